import type { NotPlaced } from "#shared/providers/provider.ts";
import { type AnswerFixture, type LookUpFixture, sought } from "#test/contracts/provider-bench.ts";

/** Beginnings of the messages that users have published. */
const captured = /^(Couldn't Get Assistant|Couldn't Start Call. Numbers|Over Concurrency|Unauth)/;

/** Error bodies are not published. Those of projects that use the API are captures. */
const refusal = (
  status: number,
  message: string | string[],
  says: string,
  outcome: AnswerFixture["outcome"],
): AnswerFixture => ({
  page: `an API answer (users): ${says}`,
  source: captured.test(String(message)) ? "capture" : "made",
  says,
  status,
  text: typeof message === "string" ? message : (message.at(-1) ?? ""),
  body: {
    message,
    error: status === 401 ? "Unauthorized" : "Bad Request",
    statusCode: status,
  },
  outcome,
});
const concurrencyPage = "docs.vapi.ai/calls/call-concurrency";

export const vapiAnswers: AnswerFixture[] = [
  {
    page: concurrencyPage,
    source: "example",
    says: "a call",
    status: 201,
    body: {
      subscriptionLimits: {
        concurrencyBlocked: false,
        concurrencyLimit: 10,
        remainingConcurrentCalls: 9,
      },
      id: "019a9046-121e-766d-bd1f-84f3ccc309c1",
      status: "queued",
    },
    outcome: { kind: "placed", providerCallId: "019a9046-121e-766d-bd1f-84f3ccc309c1" },
  },
  {
    page: `${concurrencyPage}, blocked`,
    says: "a call with `concurrencyBlocked: true`",
    status: 201,
    body: { subscriptionLimits: { concurrencyBlocked: true }, id: "019a9046", status: "queued" },
    outcome: { kind: "unknown", code: "concurrency_blocked" },
  },
  refusal(
    400,
    ["customer.number must be a valid phone number in the E.164 format."],
    "`customer.number` that is not valid",
    { kind: "rejected", code: "http_400", blamesNumber: true },
  ),
  refusal(400, ["name must be shorter than or equal to 40 characters"], "another field", {
    kind: "rejected",
    code: "http_400",
  }),
  ...["assistantId", "phoneNumberId"].map((name) =>
    refusal(
      400,
      ["customer.number is not valid", `${name} must be a UUID`],
      `\`${name}\` that is not valid`,
      { kind: "route_refused", code: "http_400" },
    ),
  ),
  refusal(
    400,
    "Couldn't Get Assistant. `assistantId` 1b2c Does Not Exist.",
    "an unknown assistant",
    { kind: "route_refused", code: "assistant_not_found" },
  ),
  refusal(
    400,
    ["assistantOverrides.variableValues.assistantId must be a string"],
    "a key of the context named like a field of the route",
    { kind: "rejected", code: "http_400" },
  ),
  refusal(
    400,
    "Couldn't Get Phone Number. `phoneNumberId` 1b2c Does Not Exist.",
    "an unknown calling number",
    { kind: "route_refused", code: "phone_number_not_found" },
  ),
  refusal(
    400,
    "Couldn't Start Call. Numbers Bought On Vapi Have A Daily Outbound Call Limit. " +
      "Import Your Own Twilio Numbers To Scale Without Limits.",
    "the daily limit of the calling number",
    { kind: "route_refused", code: "number_daily_limit" },
  ),
  refusal(400, "Over Concurrency Limit.", "the concurrency limit", {
    kind: "not_placed",
    code: "concurrency_limit",
  }),
  refusal(400, "Wallet Balance Is Below Zero. Purchase More Credits.", "the account's balance", {
    kind: "account_refused",
    code: "account_limit",
  }),
  refusal(400, "Couldn't Start Call.", "another text", { kind: "forbidden", code: "http_400" }),
  refusal(401, "Unauthorized", "a wrong key", { kind: "account_refused", code: "http_401" }),
];

const headers = { authorization: "Bearer key_1" };
const time = (at: number) => new Date(at).toISOString();
const list = (name: string, value: string, limit = 50) => ({
  path:
    `/call?phoneNumberId=phone_1&createdAtGe=${encodeURIComponent(time(sought.from))}` +
    `&${name}=${encodeURIComponent(value)}&limit=${limit}`,
  headers,
});
const first = list("createdAtLe", time(sought.until));
const one = (id: string) => ({ path: `/call/${id}`, headers });
const row = (externalId: string, more: object = {}) => ({
  id: "019a9046-0000",
  name: "attempt 1",
  createdAt: "2026-11-21T00:00:00.000Z",
  status: "ended",
  customer: { number: "+12025550123", externalId },
  ...more,
});
const listPage = "docs.vapi.ai/api-reference/calls/list";
const blocked = { subscriptionLimits: { concurrencyBlocked: true }, status: "queued" };
const start = "call.start.error-";

/** A call in doubt, as listed and as read by its id. */
const inDoubt = (
  says: string,
  more: object,
  found: LookUpFixture["found"],
  read: object = more,
): LookUpFixture => ({
  page: `VapiAI/server-sdk, CallEndedReason and CallStatus: ${says}`,
  says,
  asks: () => [first, one("019a9046-0000")],
  answers: ({ id }) => [[row("call_other"), row(id, more)], row(id, read)],
  found,
});
const notPlaced = (endedReason: string, outcome: NotPlaced) =>
  inDoubt(`ended by \`${endedReason}\``, { endedReason }, { by: "id", notPlaced: outcome });
const later = (code: string) => ({ kind: "not_placed", code }) as const;
const ofAccount = { kind: "account_refused", code: "account_limit" } as const;
const ofRoute = (code: string) => ({ kind: "route_refused", code }) as const;

export const vapiLookUps: LookUpFixture[] = [
  {
    page: listPage,
    says: "a call with our `externalId`",
    asks: () => [first],
    answers: ({ id }) => [
      [
        row("019a9046-0001"),
        row(id, { id: "019a9046-0002", subscriptionLimits: { concurrencyBlocked: false } }),
        row("call_other"),
      ],
    ],
    found: { by: "id", providerCallId: "019a9046-0002" },
  },
  {
    page: `${listPage}, with earlier attempts`,
    says: "the same, beside earlier attempts that did not start",
    attempt: 3,
    asks: () => [first],
    answers: ({ id }) => [
      [
        row(id, { id: "019a9046-0003", ...blocked }),
        row(id, { id: "019a9046-0004", endedReason: `${start}subscription-insufficient-credits` }),
        row(id, { id: "019a9046-0002", name: "attempt 3", status: "in-progress" }),
      ],
    ],
    found: { by: "id", providerCallId: "019a9046-0002" },
  },
  {
    page: `${listPage}, an earlier attempt alone`,
    says: "an earlier attempt that did not start, alone",
    attempt: 2,
    asks: () => [first],
    answers: ({ id }) => [
      [
        row(id, { endedReason: `${start}subscription-concurrency-limit-reached` }),
        row(id, { name: null, endedReason: `${start}subscription-frozen` }),
      ],
    ],
    found: undefined,
  },
  {
    page: `${listPage}, on a second page`,
    says: "a call with our `externalId`, on a second page",
    asks: () => [first, list("createdAtLt", "2026-11-20T23:59:59.001Z")],
    answers: ({ id }) => [
      Array.from({ length: 50 }, (_, n) =>
        row("call_other", {
          createdAt: `2026-11-20T23:59:59.0${String(50 - n).padStart(2, "0")}Z`,
        }),
      ),
      [row(id, { id: "019a9046-0002" })],
    ],
    found: { by: "id", providerCallId: "019a9046-0002" },
  },
  {
    page: `${listPage}, with long transcripts`,
    says: "pages above 4 MiB, which are asked for again with fewer calls",
    asks: () => [
      first,
      list("createdAtLe", time(sought.until), 13),
      list("createdAtLe", time(sought.until), 4),
    ],
    answers: ({ id }) => [
      [row("call_other", { transcript: "x".repeat(5_000_000) })],
      [row("call_other", { transcript: "x".repeat(5_000_000) })],
      [row(id, { id: "019a9046-0002", transcript: "x".repeat(500_000) })],
    ],
    found: { by: "id", providerCallId: "019a9046-0002" },
  },
  {
    page: `${listPage}, not among them`,
    says: "no call with our `externalId`",
    asks: () => [first],
    answers: () => [[{ id: "019a9046-0001", createdAt: "2026-11-21T00:00:00Z" }]],
    found: undefined,
  },
  inDoubt("blocked, and still queued", blocked, undefined),
  inDoubt(
    "blocked, then ended by the concurrency limit",
    blocked,
    { by: "id", notPlaced: later("concurrency_limit") },
    { ...blocked, status: "ended", endedReason: `${start}subscription-concurrency-limit-reached` },
  ),
  inDoubt(
    "blocked, then ringing",
    blocked,
    { by: "id", providerCallId: "019a9046-0000" },
    { ...blocked, status: "ringing" },
  ),
  inDoubt(
    "blocked, then ended by `customer-did-not-answer`",
    blocked,
    { by: "id", providerCallId: "019a9046-0000" },
    { ...blocked, status: "ended", endedReason: "customer-did-not-answer" },
  ),
  inDoubt("blocked, then ended without a reason", blocked, undefined, {
    ...blocked,
    status: "ended",
  }),
  inDoubt(
    "a reason that proves it, before the status is `ended`",
    { status: "queued", endedReason: `${start}subscription-frozen` },
    undefined,
  ),
  notPlaced(`${start}subscription-concurrency-limit-reached`, later("concurrency_limit")),
  notPlaced(`${start}vapifault-database-error`, later("vapi_fault")),
  notPlaced(`${start}vapifault-get-org`, later("vapi_fault")),
  notPlaced(`${start}vapifault-get-subscription`, later("vapi_fault")),
  notPlaced(`${start}subscription-frozen`, ofAccount),
  notPlaced(`${start}subscription-insufficient-credits`, ofAccount),
  notPlaced(`${start}subscription-upgrade-failed`, ofAccount),
  notPlaced(`${start}subscription-wallet-does-not-exist`, ofAccount),
  notPlaced(`${start}vapi-number-outbound-daily-limit`, ofRoute("number_daily_limit")),
  notPlaced(`${start}get-phone-number`, ofRoute("phone_number_not_found")),
  notPlaced(`${start}get-assistant`, ofRoute("assistant_not_found")),
  notPlaced("assistant-not-valid", ofRoute("assistant_not_found")),
  notPlaced(
    `${start}enterprise-feature-not-available-recording-consent`,
    ofRoute("recording_consent"),
  ),
  notPlaced("assistant-not-found", ofRoute("assistant_not_found")),
  notPlaced("call-start-error-neither-assistant-nor-server-set", ofRoute("assistant_not_found")),
  notPlaced("call.start.assistant-version-not-found", ofRoute("assistant_version")),
  notPlaced(`${start}vapi-number-international`, {
    kind: "rejected",
    code: "number_international",
  }),
  ...["get-transport", "get-customer", "get-resources-validation", "fraud-check-failed"].map(
    (reason) =>
      inDoubt(`ended by \`${start}${reason}\``, { endedReason: `${start}${reason}` }, undefined),
  ),
];
