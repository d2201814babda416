import type { AnswerFixture, LookUpFixture } from "#test/contracts/provider-bench.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";

const send = "docs.bland.ai/api-v1/post/calls";
const list = "docs.bland.ai/api-v1/get/calls";
const details = "docs.bland.ai/api-v1/get/calls-id";
const callId = "9d404c1b-6a23-4426-953a-a52c392ff8f1";

const refusal = (
  status: number,
  message: string,
  says: string,
  outcome: DialOutcome,
): AnswerFixture => ({
  page: `${send}: ${message}`,
  says,
  status,
  text: message,
  body: { status: "error", message },
  outcome,
});
const blacklisted = {
  kind: "rejected",
  code: "bland_blacklisted",
  blamesNumber: true,
} as const;

export const blandAnswers: AnswerFixture[] = [
  {
    page: send,
    source: "example",
    says: "a call, perhaps in Bland's queue",
    status: 200,
    body: {
      status: "success",
      message: "Call successfully queued.",
      call_id: callId,
      batch_id: null,
    },
    outcome: { kind: "placed", providerCallId: callId },
  },
  {
    page: `${send}: an error with the status of a success`,
    says: "`status: error`",
    status: 200,
    body: { status: "error", message: "Something went wrong", call_id: callId },
    outcome: { kind: "unknown", code: "answer_unreadable" },
  },
  refusal(
    429,
    "Calls can only be sent every 10 seconds to the same number.",
    "the same number within 10 s",
    { kind: "not_placed", code: "bland_same_number", blamesNumber: true },
  ),
  refusal(429, "Rate limit exceeded for newly created accounts.", "a limit of calls", {
    kind: "not_placed",
    code: "http_429",
  }),
  // The wording of the next ones is not published.
  refusal(
    429,
    "The phone number +12025550123 is blacklisted.",
    "a number on a blacklist",
    blacklisted,
  ),
  refusal(429, "You have been blacklisted.", "somebody on a blacklist", {
    kind: "forbidden",
    code: "bland_blacklisted",
  }),
  refusal(400, "Insufficient balance to send this call.", "no money left", {
    kind: "account_refused",
    code: "bland_balance",
  }),
  refusal(400, "Invalid parameters", "wrong parameters", { kind: "rejected", code: "http_400" }),
  refusal(401, "Unauthorized", "a wrong key", { kind: "account_refused", code: "http_401" }),
  {
    page: "docs.bland.ai/api-v1/post/sms-send: the newer form of errors",
    says: "a number on a blacklist, in `errors[].message`",
    status: 429,
    text: "Number blacklisted",
    body: { data: null, errors: [{ error: "X", message: "Number blacklisted" }] },
    outcome: blacklisted,
  },
  {
    page: `${send}: errors of another form`,
    says: "a number on a blacklist, beside `errors` of another form",
    status: 429,
    text: "Number blacklisted",
    body: { status: "error", message: "Number blacklisted", errors: ["phone_number"] },
    outcome: blacklisted,
  },
];

const days = "start_date=2026-11-19&end_date=2026-11-22";
const pathFrom = (from: number, ofNumber = "from_number=%2B12025550100&") =>
  `/v1/calls?${ofNumber}${days}&ascending=false&from=${from}&limit=200`;
const asked = (path: string) => ({ path, headers: { authorization: "org_1" } });
/** A row of the list, as in the example of its page. */
const row = (call_id: string, more: object = {}) => ({
  call_id,
  created_at: "2026-11-21T00:00:01.801193+00:00",
  call_length: 0.834,
  to: "+12025550123",
  from: "+12025550100",
  completed: true,
  queue_status: "complete",
  error_message: null,
  answered_by: "human",
  batch_id: null,
  ...more,
});
const detailsOf = (call_id: string, id: string, more: object = {}) => ({
  ...row(call_id),
  inbound: false,
  metadata: { call_id: id, attempt: "1" },
  ...more,
});

export const blandLookUps: LookUpFixture[] = [
  {
    page: `${details}: metadata, of the calls of ${list}`,
    says: "a call to the number in that time, with our id and attempt in its `metadata`",
    asks: () => [
      asked(pathFrom(0)),
      asked("/v1/calls/other-call"),
      asked("/v1/calls/other-attempt"),
      asked("/v1/calls/never-queued"),
      asked(`/v1/calls/${callId}`),
    ],
    answers: ({ id }) => [
      {
        count: 7,
        calls: [
          row("too-late", { created_at: "2026-11-21T00:00:40.100+00:00" }),
          row("other-number", { to: "+12025550124" }),
          row("other-call"),
          row("other-attempt"),
          row("never-queued"),
          row(callId, { to: "2025550123" }),
          row("too-early", { created_at: "2026-11-20T23:59:57.000+00:00" }),
        ],
      },
      detailsOf("other-call", "call_other"),
      detailsOf("other-attempt", id, { metadata: { call_id: id, attempt: "2" } }),
      detailsOf("never-queued", id, { queue_status: "queue_error" }),
      detailsOf(callId, id),
    ],
    found: { by: "id", providerCallId: callId },
  },
  {
    page: `${list}: a second page`,
    says: "the same, on a second page",
    asks: () => [asked(pathFrom(0)), asked(pathFrom(200)), asked(`/v1/calls/${callId}`)],
    answers: ({ id }) => [
      { calls: Array.from({ length: 200 }, () => row("other", { to: "+12025550124" })) },
      { calls: [row(callId)] },
      detailsOf(callId, id),
    ],
    found: { by: "id", providerCallId: callId },
  },
  {
    page: `${details}: queue_status`,
    says: "a call with our id that Bland took and could not queue",
    asks: () => [asked(pathFrom(0)), asked(`/v1/calls/${callId}`)],
    answers: ({ id }) => [
      { calls: [row(callId)] },
      detailsOf(callId, id, { queue_status: "pre_queue_error" }),
    ],
    found: undefined,
  },
  {
    page: `${list}: created_at`,
    says: "a whole page of calls before that time",
    asks: () => [asked(pathFrom(0))],
    answers: () => [
      {
        calls: Array.from({ length: 200 }, (_, n) =>
          row(`earlier-${n}`, { created_at: "2026-11-20T20:00:00+00:00" }),
        ),
      },
    ],
    found: undefined,
  },
  {
    page: `${details}: without metadata`,
    says: "a call to the number without `metadata`",
    asks: () => [asked(pathFrom(0)), asked(`/v1/calls/${callId}`)],
    answers: () => [{ calls: [row(callId)] }, { ...row(callId), metadata: null }],
    found: undefined,
  },
];

/** Look-ups of calls from any number of Bland's own. */
export const blandAnyNumberLookUps: LookUpFixture[] = [
  {
    page: `${list}: without from_number`,
    says: "from a number of Bland's own: a call with our id and attempt",
    asks: () => [asked(pathFrom(0, "")), asked(`/v1/calls/${callId}`)],
    answers: ({ id }) => [
      { calls: [row(callId, { from: "+14155550199" })] },
      detailsOf(callId, id),
    ],
    found: { by: "id", providerCallId: callId },
  },
  {
    page: `${list}: none`,
    says: "from a number of Bland's own: no call",
    asks: () => [asked(pathFrom(0, ""))],
    answers: () => [{ calls: [] }],
    found: undefined,
  },
];
