import { describeProvider } from "#test/contracts/provider.ts";
import { retellAnswers, retellLookUps } from "#test/support/provider-answers/retell.ts";
import { retellResults } from "#test/support/provider-results/retell.ts";

describeProvider({
  type: "retell",
  fields: { agent: "agent_9", from: "+12025550100" },
  secrets: { RETELL_API_KEY: "key_2" },
  requests: ({ id, request }) => [
    {
      path: "/v2/create-phone-call",
      headers: { authorization: "Bearer key_2", "content-type": "application/json" },
      body: {
        from_number: "+12025550100",
        to_number: request.phone_number,
        override_agent_id: "agent_9",
        retell_llm_dynamic_variables: request.context,
        metadata: { call_id: id, attempt: "1" },
      },
    },
  ],
  fixtures: retellAnswers,
  lookUps: retellLookUps,
  results: retellResults,
});
