import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { createProviderBench } from "#test/contracts/provider-bench.ts";
import { describeProvider } from "#test/contracts/provider.ts";
import { aCall } from "#test/support/calls.ts";
import { telnyxAnswers } from "#test/support/provider-answers/telnyx.ts";
import { telnyxLookUps } from "#test/support/provider-answers/telnyx-look-ups.ts";
import { telnyxEvents, telnyxResults } from "#test/support/provider-results/telnyx.ts";

const fields = { connection: "1494404757140276705", from: "+12025550100" };
const secrets = { TELNYX_API_KEY: "key_4" };
const headers = { authorization: "Bearer key_4", "content-type": "application/json" };

const read = (text: string): unknown => {
  const { client_state, ...body }: { client_state: string } = JSON.parse(text);
  return { ...body, client_state: JSON.parse(Buffer.from(client_state, "base64").toString()) };
};

/** Facts that the suites of both kinds of calls share. */
const telnyx = (title: string, own: object, bodyOf: (call: Call) => object) => ({
  type: "telnyx",
  title,
  fields: { ...fields, ...own },
  secrets,
  read,
  requests: (call: Call) => [
    {
      path: "/v2/calls",
      headers,
      body: {
        connection_id: "1494404757140276705",
        from: "+12025550100",
        to: call.request.phone_number,
        command_id: `${call.id}-1`,
        ...bodyOf(call),
      },
    },
  ],
  fixtures: telnyxAnswers,
});

describeProvider({
  ...telnyx("telnyx with an AI assistant", { agent: "assistant-9" }, ({ id, request }) => ({
    client_state: { call_id: id },
    assistant: { id: "assistant-9", dynamic_variables: request.context },
  })),
  lookUps: telnyxLookUps,
  results: telnyxResults,
});

describeProvider(
  telnyx(
    "telnyx with an application",
    { machineDetection: "premium", ringSeconds: 45 },
    ({ id, request }) => ({
      client_state: { call_id: id, agent_id: request.agent_id, context: request.context },
      answering_machine_detection: "premium",
      timeout_secs: 45,
    }),
  ),
);

describe("telnyx", () => {
  it.each([
    [{ ringSeconds: 4 }, /^must be at least 5$/],
    [{ ringSeconds: 601 }, /^must be at most 600$/],
    [{ ringSeconds: 30.5 }, /^must be a whole number$/],
    [{ machineDetection: "Enable" }, /^must be one of /],
    [{ callReason: "Your appointment" }, /^must not have /],
  ])("refuses the route's %j", (more, problem) => {
    const route = { account: "telnyx", ...fields, ...more };
    const parsed = routeKinds.parseRoute(route, { provider: "telnyx" });
    const issues = "issues" in parsed ? parsed.issues : [];
    expect(issues.map(({ message }) => message).join()).toMatch(problem);
  });
});

describe("a result of telnyx", () => {
  const bench = createProviderBench({
    type: "telnyx",
    fields,
    secrets,
    requests: () => [],
    fixtures: [],
  });
  const placed = { id: aCall().id, attempt: 1, providerCallId: "provider-1" };
  const stateOf = (call_id: string) => Buffer.from(JSON.stringify({ call_id })).toString("base64");
  const ended = "2026-11-21T00:00:52Z";
  const busy = { ended, hangup_cause: "user_busy" };
  const events = (record: Record<string, unknown>, id = placed.id) => ({
    data: telnyxEvents(record, stateOf(id)),
  });
  const status = (id: string | null) => ({
    data: { call_leg_id: "leg-1", is_alive: false, client_state: id && stateOf(id) },
  });

  it("is looked for among the latest events where the status is gone", async () => {
    const { result, received } = await bench.readResult(({ path }, response) => {
      if (path.startsWith("/v2/calls/")) response.writeHead(404).end("{}");
      else response.end(JSON.stringify(events(busy)));
    }, placed);
    expect(result).toMatchObject({ status: "busy", word: "user_busy" });
    expect(received[1]?.path).toBe(
      "/v2/call_events?filter%5Bconnection_id%5D=1494404757140276705&" +
        "filter%5Bfrom%5D=%2B12025550100&filter%5Btype%5D=webhook&" +
        "page%5Bnumber%5D=1&page%5Bsize%5D=250",
    );
  });

  it.each<[string, unknown[]]>([
    ["its end is not among the events", [status(placed.id), events({})]],
    ["its status is another call's", [status("call_other")]],
    ["its events are another call's", [status(null), events(busy, "call_other")]],
    ["there are no events", [status(placed.id), { data: [] }]],
  ])("is undefined if %s", async (_, answers) => {
    expect(await bench.readAnswered(answers, placed)).toBeUndefined();
  });
});
