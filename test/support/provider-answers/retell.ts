import type { AnswerFixture, LookUpFixture } from "#test/contracts/provider-bench.ts";

/** Error answers from docs.retellai.com/api-references, and the examples of its OpenAPI description. */
const error = (
  status: number,
  message: string,
  says: string,
  kind: "rejected" | "account_refused" | "route_refused" | "forbidden" | "not_placed" | "unknown",
): AnswerFixture => ({
  page: `docs.retellai.com/api-references: ${message}`,
  source: "example",
  says,
  status,
  text: message,
  body: { status: "error", message },
  outcome: { kind, code: `http_${status}` },
});

export const retellAnswers: AnswerFixture[] = [
  {
    page: "docs.retellai.com/api-references/create-phone-call",
    source: "example",
    says: "a call",
    status: 201,
    body: {
      call_type: "phone_call",
      from_number: "+12137771234",
      to_number: "+12137771235",
      direction: "inbound",
      call_id: "Jabr9TXYYJHfvl6Syypi88rdAHYHmcq6",
      agent_id: "oBeDLoLOeuAbiuaMFXRtDOLriTJ5tSxD",
      agent_version: 1,
      call_status: "registered",
    },
    outcome: { kind: "placed", providerCallId: "Jabr9TXYYJHfvl6Syypi88rdAHYHmcq6" },
  },
  error(400, "Invalid request format, please check API reference.", "bad format", "rejected"),
  error(401, "API key is missing or invalid.", "a wrong key", "account_refused"),
  error(402, "Trial has ended, please add payment method.", "trial ended", "account_refused"),
  { ...error(403, "Forbidden", "forbidden", "forbidden"), source: "made" },
  error(
    422,
    "Cannot find requested asset under given api key.",
    "an unknown agent or number",
    "route_refused",
  ),
  {
    ...error(422, "Invalid to_number.", "a text about `to_number`", "rejected"),
    source: "made",
    outcome: { kind: "rejected", code: "http_422", blamesNumber: true },
  },
  {
    ...error(422, "from_number and to_number differ.", "a text about both numbers", "rejected"),
    source: "made",
  },
  error(429, "Account rate limited, please throttle your requests.", "rate limit", "not_placed"),
  error(500, "An unexpected server error occurred.", "an internal error", "unknown"),
];

const headers = { authorization: "Bearer key_2", "content-type": "application/json" };
const listOf = (id: string) => ({
  path: "/v3/list-calls",
  headers,
  body: {
    filter_criteria: { metadata: [{ type: "string", op: "eq", key: "call_id", value: id }] },
    limit: 10,
  },
});
const page = "docs.retellai.com/api-references/list-calls";
const ended = (call_id: string, metadata: object | null) => ({
  call_id,
  call_status: "ended",
  metadata,
});

export const retellLookUps: LookUpFixture[] = [
  {
    page,
    says: "a call with our id and attempt in `metadata`",
    asks: ({ id }) => [listOf(id)],
    answers: ({ id }) => [
      {
        items: [
          ended("Jabr9TXY", { call_id: "call_other", attempt: "1" }),
          ended("Labr9TXY", { call_id: id, attempt: "2" }),
          ended("Kabr9TXY", { call_id: id, attempt: "1" }),
        ],
        has_more: false,
      },
    ],
    found: { by: "id", providerCallId: "Kabr9TXY" },
  },
  {
    page: `${page}, another attempt's`,
    says: "a call of another attempt, and one without metadata",
    attempt: 2,
    asks: ({ id }) => [listOf(id)],
    answers: ({ id }) => [
      { items: [ended("Kabr9TXY", { call_id: id, attempt: "1" }), ended("Mabr9TXY", null)] },
    ],
    found: undefined,
  },
  {
    page: `${page}, none`,
    says: "no call",
    asks: ({ id }) => [listOf(id)],
    answers: () => [{ items: [], has_more: false }],
    found: undefined,
  },
  {
    page: "retell-typescript-sdk, CallListResponse: items is optional",
    says: "an answer without `items`",
    asks: ({ id }) => [listOf(id)],
    answers: () => [{ has_more: false }],
    found: undefined,
  },
];
