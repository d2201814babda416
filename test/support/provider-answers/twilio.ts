import type { AnswerFixture, LookUpFixture } from "#test/contracts/provider-bench.ts";

type Kind = Exclude<AnswerFixture["outcome"]["kind"], "placed">;

const isByStatus = (status: number, kind: Kind) =>
  kind === "forbidden" || (kind === "unknown" && status !== 400);

/** Codes of www.twilio.com/docs/api/errors; the body has the form of every example there. */
const error = (status: number, code: number, what: string, kind: Kind): AnswerFixture => ({
  page: `www.twilio.com/docs/api/errors/${code}`,
  says: `${code} ${what}`,
  status,
  body: { code, message: "… +12025550123 …", more_info: "…", status },
  outcome: {
    kind,
    code: isByStatus(status, kind) ? `http_${status}` : `twilio_${code}`,
  },
});
const ofNumber = (status: number, code: number, what: string): AnswerFixture => ({
  ...error(status, code, what, "rejected"),
  outcome: { kind: "rejected", code: `twilio_${code}`, blamesNumber: true },
});
const created = {
  sid: "CAaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  account_sid: "AC1",
  to: "+14158675309",
  from: "+14158675308",
  status: "queued",
  start_time: null,
  date_created: null,
  queue_time: "1000",
};

export const twilioAnswers: AnswerFixture[] = [
  {
    page: "www.twilio.com/docs/voice/api/call-resource",
    says: "a call, possibly queued",
    status: 201,
    body: created,
    outcome: { kind: "placed", providerCallId: created.sid },
  },
  error(401, 20003, "permission denied", "account_refused"),
  error(403, 20003, "permission denied", "account_refused"),
  error(403, 20005, "account not active", "account_refused"),
  error(403, 20006, "access denied", "account_refused"),
  error(403, 20008, "test credentials", "account_refused"),
  error(400, 20010, "action disabled for the account", "account_refused"),
  error(403, 20403, "account suspended or closed", "account_refused"),
  error(403, 70051, "key without the permission", "account_refused"),
  error(403, 90010, "account not active", "account_refused"),
  error(403, 10001, "account not active", "account_refused"),
  error(400, 10002, "trial account without the feature", "account_refused"),
  error(403, 10005, "voice calling disabled for the account", "account_refused"),
  error(400, 21609, "`StatusCallback` not valid", "account_refused"),
  error(400, 21626, "`StatusCallbackEvent` not valid", "account_refused"),
  error(403, 21999, "a refusal that is not listed", "forbidden"),
  error(429, 20429, "too many requests", "not_placed"),
  {
    ...error(400, 10004, "call concurrency limit", "not_placed"),
    outcome: { kind: "not_placed", code: "twilio_10004", isFull: true },
  },
  error(400, 86008, "concurrency limit", "not_placed"),
  error(400, 21210, "`From` not verified", "route_refused"),
  error(400, 21212, "`From` not valid", "route_refused"),
  error(400, 21213, "`From` missing", "route_refused"),
  error(400, 21205, "`Url` not valid", "route_refused"),
  error(400, 21208, "`Timeout` not valid", "route_refused"),
  error(400, 21234, "`MachineDetection` not valid", "route_refused"),
  error(400, 32115, "`CallReason` not valid", "route_refused"),
  error(404, 20404, "no such account", "route_refused"),
  ofNumber(400, 21211, "`To` not valid"),
  ofNumber(400, 21214, "`To` cannot be reached"),
  error(400, 21215, "no permission for the country of `To`", "rejected"),
  error(400, 21216, "call blocked by Twilio", "rejected"),
  ofNumber(400, 21217, "`To` not valid"),
  error(400, 21219, "trial account, `To` not verified", "rejected"),
  ofNumber(400, 573002, "trial account, another `From` for this `To`"),
  ofNumber(400, 573005, "trial account, `To` not yet verified"),
  ofNumber(400, 21202, "`To` is a premium number"),
  error(400, 21203, "international calling not enabled", "rejected"),
  error(400, 21204, "call already initiated", "unknown"),
  error(500, 20500, "internal error", "unknown"),
  error(503, 20429, "too many requests, by a gateway", "unknown"),
  error(409, 20409, "conflict", "unknown"),
];

const headers = { authorization: `Basic ${Buffer.from("AC1:token_5").toString("base64")}` };
const calls = "/2010-04-01/Accounts/AC1/Calls.json";
const row = (sid: string, more: object = {}) => ({
  sid,
  to: "+12025550123",
  from: "+12025550100",
  status: "completed",
  direction: "outbound-api",
  date_created: "Sat, 21 Nov 2026 00:00:03 +0000",
  ...more,
});
export const page = (rows: object[], next_page_uri: string | null = null) => ({
  calls: rows,
  next_page_uri,
  page: 0,
  page_size: 500,
});
const started = {
  path: `${calls}?From=%2B12025550100&StartTime%3E=2026-11-20T23%3A59%3A58Z&PageSize=500`,
  headers,
};
const queued = { path: `${calls}?From=%2B12025550100&Status=queued&PageSize=500`, headers };
export const next = `${calls}?From=%2B12025550100&PageToken=PA2`;
const reference = "www.twilio.com/docs/voice/api/call-resource, read multiple";
const none = { by: "number" as const, providerCallIds: [] };

export const twilioLookUps: LookUpFixture[] = [
  {
    page: reference,
    says: "calls to the number, in the time of the request",
    asks: () => [queued, started],
    answers: () => [
      page([]),
      page([
        row("CA_ours"),
        row("CA_to_another", { to: "+12025550124" }),
        row("CA_to_nobody", { to: null }),
        row("CA_before", { date_created: "Fri, 20 Nov 2026 23:59:55 +0000" }),
        row("CA_after", { date_created: "Sat, 21 Nov 2026 00:00:41 +0000" }),
        row("CA_at_the_start", { date_created: "Fri, 20 Nov 2026 23:59:58 +0000" }),
      ]),
    ],
    found: { by: "number", providerCallIds: ["CA_ours", "CA_at_the_start"] },
  },
  {
    page: `${reference}, still queued; on a second page`,
    says: "queued calls with a date, and a second page",
    asks: () => [queued, started, { path: next, headers }],
    answers: () => [
      page([row("CA_2"), row("CA_3", { status: "queued", start_time: null })]),
      page([row("CA_1", { to: "+12025550124" })], next),
      page([row("CA_2")]),
    ],
    found: { by: "number", providerCallIds: ["CA_2", "CA_3"] },
  },
  {
    page: `${reference}, queued without a date`,
    says: "a call to the number with `date_created` null",
    asks: () => [queued],
    answers: () => [
      page([
        row("CA_2"),
        row("CA_3", { to: "+12025550124", date_created: null }),
        row("CA_4", { status: "queued", date_created: null }),
      ]),
    ],
    found: undefined,
  },
  {
    page: `${reference}, a queued one to another number without a date`,
    says: "a call to another number with `date_created` null",
    asks: () => [queued, started],
    answers: () => [
      page([row("CA_3", { to: "+12025550124", date_created: null })]),
      page([row("CA_ours")]),
    ],
    found: { by: "number", providerCallIds: ["CA_ours"] },
  },
  {
    page: `${reference}: direction`,
    says: "child legs (`outbound-dial`), trunk legs and inbound calls",
    asks: () => [queued, started],
    answers: () => [
      page([]),
      page([
        row("CA_child", { direction: "outbound-dial" }),
        row("CA_trunk", { direction: "trunking-terminating" }),
        row("CA_inbound", { direction: "inbound", date_created: null }),
      ]),
    ],
    found: none,
  },
  {
    page: `${reference}: direction, which may be null`,
    says: "a call to the number without `direction`",
    asks: () => [queued, started],
    answers: () => [page([]), page([row("CA_ours"), row("CA_whose", { direction: null })])],
    found: undefined,
  },
  {
    page: `${reference}, none`,
    says: "no call",
    asks: () => [queued, started],
    answers: () => [page([]), page([])],
    found: none,
  },
];
