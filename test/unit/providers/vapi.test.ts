import { describeProvider, sought } from "../../contracts/provider.ts";

const [from, until] = [sought.from, sought.until].map((time) =>
  encodeURIComponent(new Date(time).toISOString()),
);
const list = {
  path: `/call?phoneNumberId=phone_1&createdAtGe=${from}&createdAtLe=${until}&limit=1000`,
  headers: { authorization: "Bearer key_1" },
};

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
          { id: "019a9046-0001", status: "ended", customer: { number: "+12025550123" } },
          { id: "019a9046-0002", status: "queued", customer: { externalId: id } },
          { id: "019a9046-0003", status: "ended", customer: { externalId: "call_other" } },
        ],
      ],
      found: { by: "id", providerCallId: "019a9046-0002" },
    },
    {
      page: "docs.vapi.ai/api-reference/calls/list, not among them",
      asks: () => [list],
      answers: () => [[{ id: "019a9046-0001", status: "ended" }]],
      found: undefined,
    },
  ],
});
