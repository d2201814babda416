import { describeProvider } from "#test/contracts/provider.ts";
import { vapiAnswers, vapiLookUps } from "#test/support/provider-answers/vapi.ts";
import { vapiResults, vapiTransfers } from "#test/support/provider-results/vapi.ts";

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
        name: "attempt 1",
        customer: { number: request.phone_number, externalId: id },
        assistantOverrides: { variableValues: request.context },
      },
    },
  ],
  fixtures: vapiAnswers,
  lookUps: vapiLookUps,
  results: { ...vapiResults, fixtures: [...vapiResults.fixtures, ...vapiTransfers] },
});
