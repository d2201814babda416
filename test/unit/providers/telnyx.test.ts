import { describe, expect, it } from "vitest";
import { parseRoute } from "../../../shared/providers/index.ts";
import { describeProvider } from "../../contracts/provider.ts";
import { telnyxAnswers, telnyxLookUps } from "../../support/provider-answers/telnyx.ts";

const fields = { connection: "1494404757140276705", from: "+12025550100" };
const secrets = { TELNYX_API_KEY: "key_4" };
const headers = { authorization: "Bearer key_4", "content-type": "application/json" };

const read = (text: string): unknown => {
  const { client_state, ...body }: { client_state: string } = JSON.parse(text);
  return { ...body, client_state: JSON.parse(Buffer.from(client_state, "base64").toString()) };
};

describeProvider({
  type: "telnyx",
  title: "telnyx with an AI assistant",
  fields: { ...fields, agent: "assistant-9" },
  secrets,
  read,
  requests: ({ id, request }) => [
    {
      path: "/v2/calls",
      headers,
      body: {
        connection_id: "1494404757140276705",
        from: "+12025550100",
        to: request.phone_number,
        command_id: `${id}-1`,
        client_state: { call_id: id },
        assistant: { id: "assistant-9", dynamic_variables: request.context },
      },
    },
  ],
  fixtures: telnyxAnswers,
  lookUps: telnyxLookUps,
});

describeProvider({
  type: "telnyx",
  title: "telnyx with an application",
  fields: { ...fields, machineDetection: "premium", ringSeconds: 45 },
  secrets,
  read,
  requests: ({ id, request }) => [
    {
      path: "/v2/calls",
      headers,
      body: {
        connection_id: "1494404757140276705",
        from: "+12025550100",
        to: request.phone_number,
        command_id: `${id}-1`,
        client_state: { call_id: id, agent_id: request.agent_id, context: request.context },
        answering_machine_detection: "premium",
        timeout_secs: 45,
      },
    },
  ],
  fixtures: telnyxAnswers,
});

describe("telnyx", () => {
  it.each([
    [{ ringSeconds: 4 }, /^Too small/],
    [{ ringSeconds: 601 }, /^Too big/],
    [{ ringSeconds: 30.5 }, /^Invalid input: expected int/],
    [{ machineDetection: "Enable" }, /^Invalid option/],
    [{ callReason: "Your appointment" }, /^Unrecognized key/],
  ])("refuses the route's %j", (more, problem) => {
    const route = { provider: "telnyx", ...fields, ...more };
    const parsed = parseRoute(route, { type: "telnyx" });
    const issues = "issues" in parsed ? parsed.issues : [];
    expect(issues.map(({ message }) => message).join()).toMatch(problem);
  });
});
