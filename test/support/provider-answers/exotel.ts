import type { AnswerFixture, LookUpFixture } from "#test/contracts/provider-bench.ts";
import type { DialOutcome, FoundCall } from "#shared/providers/provider.ts";

const connect = "developer.exotel.com/docs/voice-v1/api-reference/connect-to-flow";
const codes = "developer.exotel.com/docs/references/error-codes";
const sid = "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6";

const refusal = (
  [status, page]: [number, string],
  Message: string,
  says: string,
  outcome: DialOutcome,
): AnswerFixture => ({
  page: `${page}: ${says}`,
  says,
  status,
  text: Message,
  body: { RestException: { Status: status, Message } },
  outcome,
});

export const exotelAnswers: AnswerFixture[] = [
  {
    page: `${connect}: Response`,
    source: "example",
    says: "a call that the operator has",
    status: 200,
    body: {
      Call: {
        Sid: sid,
        ParentCallSid: null,
        DateCreated: "2017-03-03 12:30:24",
        AccountSid: "your_sid",
        To: null,
        From: "09876543210",
        PhoneNumberSid: "08047091234",
        Status: "in-progress",
        Direction: "outbound-api",
      },
    },
    outcome: { kind: "placed", providerCallId: sid },
  },
  refusal([400, codes], "Bad/missing parameters", "a missing or invalid parameter", {
    kind: "rejected",
    code: "http_400",
  }),
  refusal([401, codes], "Authentication failed", "a wrong key", {
    kind: "account_refused",
    code: "http_401",
  }),
  refusal([402, codes], "Payment required", "no money left, or the plan's limit", {
    kind: "account_refused",
    code: "http_402",
  }),
  {
    ...refusal(
      [403, "github.com/vijendra/exotel, README, users"],
      "Call to 09876543210 can not be made because of TRAI NDNC regulations",
      "a number on India's registry",
      { kind: "rejected", code: "exotel_ndnc", blamesNumber: true },
    ),
    source: "capture",
  },
  refusal([403, codes], "Forbidden", "a suspended account, or a permission that is missing", {
    kind: "forbidden",
    code: "http_403",
  }),
  refusal([404, codes], "Not found", "an unknown account", {
    kind: "account_refused",
    code: "exotel_account",
  }),
  refusal([409, codes], "Conflict", "a conflict", { kind: "unknown", code: "http_409" }),
  {
    page: "developer.exotel.com/docs/advanced-config/rate-limiting: Rate Limit Exceeded",
    says: "more than 200 requests a minute",
    status: 429,
    headers: { "retry-after": "30" },
    body: {
      RestException: {
        Status: 429,
        Message: "Rate limit exceeded. Try again in 30 seconds.",
        Code: "RATE_LIMIT_EXCEEDED",
      },
    },
    outcome: { kind: "not_placed", code: "http_429", retryAfterSeconds: 30 },
  },
  refusal(
    [500, "support.exotel.com/support/solutions/articles/3000083306"],
    "Internal Server Error",
    "a call that no operator took, or a server's error",
    { kind: "unknown", code: "http_500" },
  ),
  refusal(
    [504, "support.exotel.com/support/solutions/articles/3000083306"],
    "Gateway Timeout",
    "a call that no operator took in time, or a gateway's error",
    { kind: "unknown", code: "http_504" },
  ),
];

const headers = { authorization: `Basic ${Buffer.from("key_1:token_8").toString("base64")}` };
const list = "/v1/Accounts/acme1/Calls.json";
const asked = (since: string, until: string, more = "") => ({
  path:
    `${list}?DateCreated=gte%3A${since}%3Blte%3A${until}&Direction=outbound-api` +
    `&PageSize=100&SortBy=DateCreated%3Aasc${more}`,
  headers,
});
const inIndia = (more = "") => asked("2026-11-21+05%3A29%3A57", "2026-11-21+05%3A30%3A41", more);
const inSingapore = asked("2026-11-21+07%3A59%3A57", "2026-11-21+08%3A00%3A41");
const inUtc = asked("2026-11-20+23%3A59%3A57", "2026-11-21+00%3A00%3A41");
const all = () => [inIndia(), inSingapore, inUtc];

const row = (Sid: string, more: object = {}) => ({
  Sid,
  ParentCallSid: null,
  DateCreated: "2026-11-21 05:30:02",
  To: null,
  From: "+12025550123",
  PhoneNumberSid: "08047091234",
  Status: "completed",
  Duration: "42",
  Direction: "outbound-api",
  ...more,
});
const page = (Calls: object[], NextPageUri: string | null = null) => ({
  Metadata: { Total: Calls.length, PageSize: 100, PrevPageUri: null, NextPageUri },
  Calls,
});
const placed: FoundCall = { by: "number", providerCallIds: [sid] };
const details = "developer.exotel.com/docs/voice-v1/api-reference/call-details";

export const exotelLookUps: LookUpFixture[] = [
  {
    page: `${details}: India's time`,
    says: "a call from our ExoPhone to that number in that time, by India's clock",
    asks: all,
    answers: () => [
      page([
        row("other-number", { From: "+12025550124" }),
        row("other-caller", { PhoneNumberSid: "08047095678" }),
        row("second-leg", { ParentCallSid: sid }),
        row("incoming", { Direction: "inbound" }),
        row("too-early", { DateCreated: "2026-11-21 05:29:50" }),
        row(sid, { From: "02025550123", PhoneNumberSid: "+918047091234" }),
      ]),
      page([]),
      page([]),
    ],
    found: placed,
  },
  {
    page: `${details}: Singapore's time`,
    says: "the same, by Singapore's clock",
    asks: all,
    answers: () => [page([]), page([row(sid, { DateCreated: "2026-11-21 08:00:02" })]), page([])],
    found: placed,
  },
  {
    page: `${details}: UTC`,
    says: "the same, by UTC",
    asks: all,
    answers: () => [page([]), page([]), page([row(sid, { DateCreated: "2026-11-21 00:00:02" })])],
    found: placed,
  },
  {
    page: `${details}: After`,
    says: "the same, on a second page",
    asks: () => [inIndia(), inIndia("&After=c2"), inSingapore, inUtc],
    answers: () => [
      page([row("other", { From: "+12025550124" })], `${list}?PageSize=100&After=c2`),
      page([row(sid)]),
      page([]),
      page([]),
    ],
    found: placed,
  },
  {
    page: `${details}: two calls`,
    says: "two calls to the number",
    asks: all,
    answers: () => [page([row(sid), row("another", { Status: "busy" })]), page([]), page([])],
    found: { by: "number", providerCallIds: [sid, "another"] },
  },
  {
    page: `${details}: a row without a time`,
    says: "a call to the number without a time",
    asks: () => [inIndia()],
    answers: () => [page([row(sid, { DateCreated: null })])],
    found: undefined,
  },
  {
    page: `${details}: a row without a direction`,
    says: "a call to the number without a direction",
    asks: () => [inIndia()],
    answers: () => [page([row(sid, { Direction: null })])],
    found: undefined,
  },
  {
    page: `${details}: a full page without a cursor`,
    says: "a full page that tells of no next one",
    asks: () => [inIndia()],
    answers: () => [
      page(Array.from({ length: 100 }, (_, n) => row(`other-${n}`, { From: "+12025550124" }))),
    ],
    found: undefined,
  },
  {
    page: "developer.exotel.com/api/call-details-bulk: none",
    says: "no call, as one that goes on is not listed",
    asks: all,
    answers: () => [page([]), page([]), page([])],
    found: { by: "number", providerCallIds: [] },
  },
];
