import { describeProvider } from "../contracts/provider.ts";

describeProvider({
  type: "vapi",
  fields: { agent: "asst_9", from: "phone_1" },
  secrets: { VAPI_API_KEY: "key_1" },
  request: ({ id, request }) => ({
    path: "/call",
    headers: { authorization: "Bearer key_1", "content-type": "application/json" },
    body: {
      assistantId: "asst_9",
      phoneNumberId: "phone_1",
      customer: { number: request.phone_number, externalId: id },
      assistantOverrides: { variableValues: request.context },
    },
  }),
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
});

/** From docs.retellai.com/api-references, and the examples of its OpenAPI description. */
const retellError = (
  status: number,
  message: string,
  kind: "rejected" | "account_refused" | "forbidden" | "not_placed" | "unknown",
) => ({
  page: `docs.retellai.com/api-references: ${message}`,
  status,
  body: { status: "error", message },
  outcome: { kind, code: `http_${status}` },
});

describeProvider({
  type: "retell",
  fields: { agent: "agent_9", from: "+12025550100" },
  secrets: { RETELL_API_KEY: "key_2" },
  request: ({ id, request }) => ({
    path: "/v2/create-phone-call",
    headers: { authorization: "Bearer key_2", "content-type": "application/json" },
    body: {
      from_number: "+12025550100",
      to_number: request.phone_number,
      override_agent_id: "agent_9",
      retell_llm_dynamic_variables: request.context,
      metadata: { call_id: id },
    },
  }),
  fixtures: [
    {
      page: "docs.retellai.com/api-references/create-phone-call",
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
    retellError(400, "Invalid request format, please check API reference.", "rejected"),
    retellError(401, "API key is missing or invalid.", "account_refused"),
    retellError(402, "Trial has ended, please add payment method.", "account_refused"),
    retellError(403, "Forbidden", "forbidden"),
    retellError(422, "Cannot find requested asset under given api key.", "rejected"),
    retellError(429, "Account rate limited, please throttle your requests.", "not_placed"),
    retellError(500, "An unexpected server error occurred.", "unknown"),
  ],
});
