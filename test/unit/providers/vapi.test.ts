import { describeProvider, sought } from "../../contracts/provider.ts";

const time = (at: number) => new Date(at).toISOString();
const listPath = (name: string, value: string) =>
  `/call?phoneNumberId=phone_1&createdAtGe=${encodeURIComponent(time(sought.from))}` +
  `&${name}=${encodeURIComponent(value)}&limit=50`;
const list = {
  path: listPath("createdAtLe", time(sought.until)),
  headers: { authorization: "Bearer key_1" },
};
const row = (externalId: string, more: object = {}) => ({
  id: "019a9046-0000",
  createdAt: "2026-11-21T00:00:00.000Z",
  status: "ended",
  customer: { number: "+12025550123", externalId },
  ...more,
});

describeProvider({
  type: "vapi",
  fields: { agent: "asst_9", from: "phone_1" },
  secrets: { VAPI_API_KEY: "key_1" },
  requests: ({ id, request }) => [
    {
      path: "/call",
      headers: { authorization: "Bearer key_1", "content-type": "application/json" },
      body: {
        assistantId: "asst_9",
        phoneNumberId: "phone_1",
        customer: { number: request.phone_number, externalId: id },
        assistantOverrides: { variableValues: request.context },
      },
    },
  ],
  fixtures: [
    {
      page: "docs.vapi.ai/calls/call-concurrency",
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
      page: "docs.vapi.ai/calls/call-concurrency, blocked",
      status: 201,
      body: { subscriptionLimits: { concurrencyBlocked: true }, id: "019a9046", status: "queued" },
      outcome: { kind: "not_placed", code: "concurrency_blocked" },
    },
    // Error bodies are not published; these are quoted from the API by projects that use it.
    {
      page: "an API answer, bad input",
      status: 400,
      body: {
        message: ["customer.number must be a valid phone number in the E.164 format."],
        error: "Bad Request",
        statusCode: 400,
      },
      outcome: { kind: "rejected", code: "http_400" },
    },
    {
      page: "an API answer, daily limit",
      status: 400,
      body: {
        message:
          "Couldn't Start Call. Numbers Bought On Vapi Have A Daily Outbound Call Limit. " +
          "Import Your Own Twilio Numbers To Scale Without Limits.",
        error: "Bad Request",
        statusCode: 400,
      },
      outcome: { kind: "account_refused", code: "account_limit" },
    },
    {
      page: "an API answer, concurrency",
      status: 400,
      body: { message: "Over Concurrency Limit.", error: "Bad Request", statusCode: 400 },
      outcome: { kind: "not_placed", code: "concurrency_limit" },
    },
    {
      page: "an API answer, something else",
      status: 400,
      body: { message: "Couldn't Start Call.", error: "Bad Request", statusCode: 400 },
      outcome: { kind: "forbidden", code: "http_400" },
    },
    {
      page: "an API answer, wrong key",
      status: 401,
      body: { message: "Unauthorized", error: "Unauthorized", statusCode: 401 },
      outcome: { kind: "account_refused", code: "http_401" },
    },
  ],
  lookUps: [
    {
      page: "docs.vapi.ai/api-reference/calls/list",
      asks: () => [list],
      answers: ({ id }) => [
        [
          row("019a9046-0001"),
          // An earlier attempt that was blocked, and one that Vapi took and could not start.
          row(id, { subscriptionLimits: { concurrencyBlocked: true } }),
          row(id, { endedReason: "call.start.error-subscription-insufficient-credits" }),
          row(id, { id: "019a9046-0002", subscriptionLimits: { concurrencyBlocked: false } }),
          row("call_other"),
        ],
      ],
      found: { by: "id", providerCallId: "019a9046-0002" },
    },
    {
      page: "docs.vapi.ai/api-reference/calls/list, on a second page",
      asks: () => [list, { ...list, path: listPath("createdAtLt", "2026-11-20T23:59:59.001Z") }],
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
      page: "docs.vapi.ai/api-reference/calls/list, not among them",
      asks: () => [list],
      answers: () => [[{ id: "019a9046-0001", createdAt: "2026-11-21T00:00:00Z" }]],
      found: undefined,
    },
  ],
});
