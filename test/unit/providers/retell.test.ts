import { describeProvider } from "../../contracts/provider.ts";

const headers = { authorization: "Bearer key_2", "content-type": "application/json" };
const listOf = (id: string) => ({
  path: "/v3/list-calls",
  headers,
  body: {
    filter_criteria: { metadata: [{ type: "string", op: "eq", key: "call_id", value: id }] },
    limit: 10,
  },
});

/** Error answers from docs.retellai.com/api-references, and the examples of its OpenAPI description. */
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
  requests: ({ id, request }) => [
    {
      path: "/v2/create-phone-call",
      headers,
      body: {
        from_number: "+12025550100",
        to_number: request.phone_number,
        override_agent_id: "agent_9",
        retell_llm_dynamic_variables: request.context,
        metadata: { call_id: id, attempt: "1" },
      },
    },
  ],
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
  lookUps: [
    {
      page: "docs.retellai.com/api-references/list-calls",
      asks: ({ id }) => [listOf(id)],
      answers: ({ id }) => [
        {
          items: [
            { call_id: "Jabr9TXY", call_status: "ended", metadata: { call_id: "call_other" } },
            { call_id: "Labr9TXY", call_status: "ended", metadata: { call_id: id, attempt: "2" } },
            { call_id: "Kabr9TXY", call_status: "ended", metadata: { call_id: id, attempt: "1" } },
          ],
          has_more: false,
        },
      ],
      found: { by: "id", providerCallId: "Kabr9TXY" },
    },
    {
      page: "docs.retellai.com/api-references/list-calls, none",
      asks: ({ id }) => [listOf(id)],
      answers: () => [{ items: [], has_more: false }],
      found: undefined,
    },
  ],
});
