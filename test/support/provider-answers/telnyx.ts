import type { AnswerFixture } from "#test/contracts/provider-bench.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";

const later = (code: string) => ({ kind: "not_placed", code }) as const;
const full = (code: string) => ({ ...later(code), isFull: true }) as const;
const ofAccount = (code: string) => ({ kind: "account_refused", code }) as const;
const ofRoute = (code: string) => ({ kind: "route_refused", code }) as const;
const ofCall = (code: string) => ({ kind: "rejected", code }) as const;

interface TelnyxError {
  code: string;
  title: string;
  detail?: string;
  source?: { pointer: string };
}
/** Codes and titles of developers.telnyx.com/development/api-fundamentals/api-errors. */
const error = (status: number, one: TelnyxError, outcome: DialOutcome): AnswerFixture => ({
  page: `developers.telnyx.com, errors: ${one.code} ${one.title} ${one.source?.pointer ?? ""}`.trim(),
  says: `${one.code} ${one.title}${one.source === undefined ? "" : `, at \`${one.source.pointer}\``}`,
  status,
  body: { errors: [one] },
  outcome,
});

const article = "support.telnyx.com, Telnyx SIP Response Codes";
/** A refusal whose subject is told by the D-code in its detail. */
const dCode = (
  number: number,
  { status = 403, what, outcome }: { status?: number; what: string; outcome: DialOutcome },
): AnswerFixture => ({
  page: `${article}: D${number}`,
  says: `10010 with D${number}, ${what}`,
  status,
  text: `${what} D${number}`,
  body: {
    errors: [{ code: "10010", title: "Authorization failed", detail: `${what} D${number}` }],
  },
  outcome,
});
const dCodesOf = (
  numbers: string,
  what: string,
  outcomeOf: (code: string) => DialOutcome,
  status = 403,
) =>
  numbers
    .split(" ")
    .map((number) =>
      dCode(Number(number), { status, what, outcome: outcomeOf(`telnyx_d${number}`) }),
    );
const ofNumber = (code: string) => ({ kind: "rejected", code, blamesNumber: true }) as const;
const numberLater = (code: string, retryAfterSeconds: number) =>
  ({ kind: "not_placed", code, blamesNumber: true, retryAfterSeconds }) as const;

export const telnyxAnswers: AnswerFixture[] = [
  {
    page: "developers.telnyx.com/api-reference/call-commands/dial",
    source: "example",
    says: "a call",
    status: 200,
    body: {
      data: {
        call_control_id: "v3:MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2axZ_IiE4pqg",
        call_leg_id: "428c31b6-7af4-4bcb-b7f5-5013ef9657c1",
        call_session_id: "428c31b6-7af4-4bcb-b7f5-5013ef9657c1",
        is_alive: false,
        record_type: "call",
      },
    },
    outcome: {
      kind: "placed",
      providerCallId: "v3:MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2axZ_IiE4pqg",
    },
  },
  error(
    429,
    {
      code: "10011",
      title: "Too many requests",
      detail: "You have exceeded the maximum number of allowed requests.",
    },
    later("http_429"),
  ),
  error(429, { code: "90103", title: "Dials per second limit" }, later("http_429")),
  error(
    403,
    { code: "90010", title: "Dial failed", detail: "User channel limit exceeded D1" },
    full("concurrency_limit"),
  ),
  {
    ...error(
      403,
      { code: "90010", title: "Dial failed", detail: "User channel limit exceeded" },
      full("concurrency_limit"),
    ),
    says: "90010 with a channel limit in its detail",
    text: "channel limit exceeded",
  },
  ...["90041", "90042", "90043"].map((code) => ({
    ...error(403, { code, title: "Channels limit exceeded" }, full("concurrency_limit")),
    page: `Telnyx's error codes, as users have seen them: ${code}`,
  })),
  error(
    403,
    { code: "10010", title: "Authorization failed" },
    { kind: "forbidden", code: "http_403" },
  ),
  ...dCodesOf("1 2 3", "a limit of calls at once", full),
  ...dCodesOf("10 22", "a limit of calls", later),
  ...dCodesOf("9", "one international number, within 60 s", (code) => numberLater(code, 60)),
  ...dCodesOf("39", "the day's international spending", (code) => numberLater(code, 900)),
  ...dCodesOf("14 50 59", "the number called", ofNumber, 404),
  ...dCodesOf("24 37 41 53 58", "the number called", ofNumber),
  ...dCodesOf("12 13", "the destination", ofCall),
  ...dCodesOf("11", "the number called, or more", ofNumber),
  ...dCodesOf("40", "no route to the number", ofCall, 404),
  ...dCodesOf("38", "the connection", ofRoute, 404),
  ...dCodesOf(
    "7 15 16 35 36 38 44 46 49 51 54 63 64",
    "the connection or the calling number",
    ofRoute,
  ),
  ...dCodesOf("17 19 25 26 27 28 29", "the account", ofAccount),
  ...dCodesOf("60", "the account's level", ofAccount),
  {
    page: `${article}: in a field of its own, beside an id, as users have seen it`,
    source: "capture",
    says: "10010 with `telnyx_error.error_code` D60, beside a `call_control_id`",
    status: 403,
    text: "Can not make calls to non-verified numbers at this account level D60.",
    body: {
      data: { call_control_id: "v3:-HA6lTgrVUjJHgOyKoiBX5qWEsB9MAh5NWD4IL7HQjDgb-Y6COJNsg" },
      errors: [
        {
          code: 10010,
          detail: "Can not make calls to non-verified numbers at this account level D60.",
        },
      ],
      telnyx_error: { error_code: "D60" },
    },
    outcome: ofAccount("telnyx_d60"),
  },
  ...[400, 404, 422].map((status) => ({
    page: `${article}, as users have seen it`,
    says: "10010 with D13 within its detail",
    status,
    text: "Dialed number is not included in whitelisted countries D13",
    body: {
      errors: [
        {
          code: "10010",
          title: "Authorization failed",
          detail: "Dialed number is not included in whitelisted countries D13. Change the profile.",
        },
      ],
    },
    outcome: ofCall("telnyx_d13"),
  })),
  {
    page: `${article}, as users have seen it`,
    says: "10010 with D38 within its detail",
    status: 403,
    text: "No profile assigned D38",
    body: {
      errors: [
        {
          code: "10010",
          title: "Authorization failed",
          detail: "No profile assigned D38. Connection has no Outbound Profile assigned.",
        },
      ],
    },
    outcome: ofRoute("telnyx_d38"),
  },
  error(404, { code: "10010", title: "Authorization failed" }, ofCall("telnyx_10010")),
  error(404, { code: "10002", title: "Invalid phone number" }, ofCall("telnyx_10002")),
  error(403, { code: "90020", title: "No" }, { kind: "forbidden", code: "http_403" }),
  error(401, { code: "10009", title: "Authentication failed" }, ofAccount("http_401")),
  error(403, { code: "10009", title: "Authentication failed" }, ofAccount("telnyx_10009")),
  error(403, { code: "10039", title: "Feature limited" }, ofAccount("telnyx_10039")),
  ...["20012", "20013", "20016", "20100"].map((code) => ({
    ...error(403, { code, title: "…" }, ofAccount(`telnyx_${code}`)),
    page: `Telnyx's error codes, as users have seen them: ${code}`,
    says: `${code}, of the account`,
  })),
  error(
    422,
    { code: "10016", title: "Phone number must be in +E164 format", source: { pointer: "/to" } },
    ofNumber("telnyx_10016"),
  ),
  error(
    422,
    { code: "10016", title: "Phone number must be in +E164 format", source: { pointer: "/from" } },
    ofRoute("telnyx_10016"),
  ),
  error(
    422,
    { code: "10015", title: "Bad Request", source: { pointer: "/assistant/id" } },
    ofRoute("telnyx_10015"),
  ),
  error(
    404,
    { code: "10005", title: "Resource not found", source: { pointer: "/connection_id" } },
    ofRoute("telnyx_10005"),
  ),
  error(404, { code: "10005", title: "Resource not found" }, ofRoute("telnyx_10005")),
  error(400, { code: "10015", title: "Bad Request" }, ofCall("telnyx_10015")),
  error(408, { code: "10008", title: "Request timeout" }, { kind: "unknown", code: "http_408" }),
  error(409, { code: "10012", title: "Duplicate resource" }, { kind: "unknown", code: "http_409" }),
  error(500, { code: "10007", title: "Unexpected error" }, { kind: "unknown", code: "http_500" }),
];
