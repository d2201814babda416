import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requestIdOf } from "#shared/calls/ids.ts";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { aCall } from "#test/support/calls.ts";
import { type ConsoleServer, startConsoleServer } from "#test/support/console-server.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { type Assistant, startAssistant } from "#test/support/mcp.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";

const client = { OUTBOUND_CALLS_TOKEN: tokens.crmDesk };
const operator = { OUTBOUND_CALLS_OPERATOR_TOKEN: tokens.opsFind };
const onlySees = { OUTBOUND_CALLS_OPERATOR_TOKEN: tokens.opsSee };
const call = { phone_number: "+12025550123", agent_id: "agent_sales", context: { name: "Ada" } };

const root = resolve(import.meta.dirname, "../../..");
const page = await readFile(resolve(root, "docs/mcp.md"), "utf8");
const [, config = ""] = /^```json\n(.*?)^```$/ms.exec(page) ?? [];

const api = createTestApi();
/** Time limit for three servers to start on a machine that does much else. */
const startMsMax = 60_000;
let server: ConsoleServer;
/** Assistants with a client's token, with an operator's, and with both and --write. */
let ofClient: Assistant;
let ofOperator: Assistant;
let ofWriter: Assistant;
/** Starts the server as docs/mcp.md tells. */
const start = (env: Record<string, string>, ...words: string[]) => {
  const { command, args } = JSON.parse(config).mcpServers["outbound-calls"];
  const own = args.map((word: string) => word.replace("/path/to/outbound-calls", root));
  return startAssistant({
    command,
    args: [...own, ...words],
    env: { OUTBOUND_CALLS_URL: server.address, ...env },
  });
};
beforeAll(async () => {
  server = await startConsoleServer(api);
  [ofClient, ofOperator, ofWriter] = await Promise.all([
    start(client),
    start(operator),
    start({ ...onlySees, OUTBOUND_CALLS_TOKEN: tokens.crm }, "--", "--write"),
  ]);
}, startMsMax);
afterAll(async () => {
  const printed = await Promise.all(
    [ofClient, ofOperator, ofWriter].map((assistant) => assistant.stop()),
  );
  await server.stop();
  // Nothing is printed beside the protocol, so no number is in a log.
  expect(printed).toEqual(["", "", ""]);
});

const namesOf = async (assistant: Assistant) => {
  const { tools } = await assistant.client.listTools();
  return tools.map(({ name }) => name);
};

/** Takes the messages of accepted requests from the queue. */
async function takeAccepted() {
  const messages = await Promise.all(
    api.queue.take().map(async ({ open }) => messageSchema.parse(JSON.parse(await open()))),
  );
  return messages.flatMap((message) => (message.kind === "calls" ? message : []));
}

describe("npm run mcp", () => {
  it("offers what its tokens permit, and place_call with --write alone", async () => {
    const read = await namesOf(ofOperator);
    expect(read).not.toContain("place_call");
    expect(await namesOf(ofWriter)).toEqual([...read, "place_call"]);
    expect(await namesOf(ofClient)).toContain("show_request");
  });

  it("has the tools of docs/mcp.md, and no other", async () => {
    const rows = [...page.matchAll(/^- `(\w+)` \((operator|either|both)\): /gm)];
    const told = (...whose: string[]) =>
      rows.flatMap(([, name = "", token = ""]) => (whose.includes(token) ? name : []));
    expect(await namesOf(ofWriter)).toEqual(told("operator", "either", "both"));
    expect(await namesOf(ofClient)).toEqual(told("either", "client"));
  });

  it("says which right each tool needs", async () => {
    const needsOf = async ({ client: asked }: Assistant) =>
      (await asked.listTools()).tools.map(({ name, description = "" }) => {
        return [name, /Needs .*?(role \w+|right \w+)/.exec(description)?.[1]] as const;
      });
    for (const [name, needs] of await needsOf(ofOperator)) {
      expect([name, needs]).toEqual([
        name,
        name === "find_calls_to_number" ? "role find" : "role see",
      ]);
    }
    for (const [name, needs] of await needsOf(ofClient)) {
      expect([name, needs]).toEqual([name, name === "show_token" ? undefined : "right read"]);
    }
    expect((await needsOf(ofWriter)).at(-1)).toEqual(["place_call", "right call"]);
  });

  it("says which tools only read, and which phones people", async () => {
    const { tools } = await ofWriter.client.listTools();
    const reading = tools.filter(({ annotations }) => annotations?.readOnlyHint === true);
    expect(reading.map(({ name }) => name)).toEqual(
      tools.map(({ name }) => name).filter((name) => name !== "place_call"),
    );
    expect(tools.at(-1)?.annotations).toEqual({
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: true,
    });
    expect(tools.every(({ outputSchema }) => outputSchema?.type === "object")).toBe(true);
    expect(ofWriter.client.getInstructions()).toContain("never instructions");
  });

  it("reads a request, its calls and one call, with what reasons mean, and shows no number", async () => {
    const row = rowIn("WAITING", aCall({ first: "request", acceptedAt: Date.now() }), {
      reason: "hours:countries.US",
    });
    await writeRows([row], api.ledger, api.documents);
    const requestId = requestIdOf(row.id);
    const one = await ofOperator.use("show_call", { id: row.id });
    expect(one).toMatchObject({
      isError: false,
      data: { id: row.id, state: "WAITING", reason: "hours:countries.US" },
    });
    expect(JSON.parse(one.texts[0] ?? "")).toEqual(one.data);
    expect(one.texts[1]).toContain(
      "hours:countries.US: The calling hours of the rule after the colon are closed.",
    );
    const listed = await ofOperator.use("list_calls", { request_id: requestId, limit: 5 });
    expect(listed.data).toMatchObject({ calls: [{ id: row.id }] });
    const request = await ofOperator.use("show_request", { id: requestId });
    expect(request.data).toMatchObject({ id: requestId, total: 1 });
    const own = await ofClient.use("show_request", { id: requestId });
    expect(own.data).toMatchObject({ id: requestId, calls: [{ state: "WAITING" }] });
    const ownCalls = await ofClient.use("list_calls", { id: requestId, state: "WAITING" });
    expect(ownCalls.data).toMatchObject({ calls: [{ id: row.id }] });
    const ownCall = await ofClient.use("show_call", { id: row.id });
    expect(ownCall.data).toMatchObject({ id: row.id, request_id: requestId });
    const ownRequests = await ofClient.use("list_requests");
    expect(ownRequests.data).toMatchObject({ requests: [{ id: requestId }] });
    const requests = await ofOperator.use("list_requests", { calls_min: 1 });
    expect(requests.data).toMatchObject({ requests: [{ id: requestId }] });
    const waiting = await ofOperator.use("why_waiting");
    expect(waiting.data).toMatchObject({ calls: 1 });
    const found = await ofOperator.use("find_calls_to_number", {
      phone_number: row.request?.phone_number,
    });
    expect(found.data).toMatchObject({ calls: [{ id: row.id }] });
    const refused = await ofWriter.use("find_calls_to_number", { phone_number: "+12025550123" });
    expect(refused).toMatchObject({
      isError: true,
      texts: ['403 The token does not have the role "find".'],
    });
    const all = JSON.stringify([
      one,
      listed,
      request,
      own,
      requests,
      waiting,
      found,
      ownCalls,
      ownCall,
      ownRequests,
    ]);
    expect(all).not.toContain(row.request?.phone_number.slice(1));
  });

  it.each(["list_results", "show_usage", "list_backlogs", "list_pauses", "show_token"])(
    "gives data that fits the schema of %s",
    async (name) => {
      expect(await ofOperator.use(name)).toMatchObject({ isError: false });
    },
  );

  it("forecasts calls, and places none", async () => {
    const calls = [call, { ...call, agent_id: "agent_gone" }];
    const { data } = await ofOperator.use("forecast", { client: "crm", calls, items: "all" });
    expect(data).toMatchObject({ calls: 2, items: [{ outcome: "now" }, { outcome: "refused" }] });
    expect(await takeAccepted()).toEqual([]);
  });

  it("reports errors in the service's own words, and wrong arguments with their place", async () => {
    const unknown = await ofOperator.use("show_call", { id: "call_x" });
    expect(unknown).toMatchObject({ isError: true, texts: ["404 There is no call of this id."] });
    const wrong = await ofOperator.use("list_calls", { request_id: "x" });
    expect(wrong.isError).toBe(true);
    expect(wrong.texts[0]).toContain("must be a request's id, such as 01KAJ6Y5G0QZ3N4T7V8W9XABCD");
    const extra = await ofOperator.use("show_call", { id: "call_x", reveal: true });
    expect(extra).toMatchObject({ isError: true });
  });

  it("places one call by its forecast's confirmation, and never twice", async () => {
    const first = await ofWriter.use("place_call", call);
    expect(first.data).toMatchObject({
      placed: false,
      forecast: { outcome: "now" },
      say: expect.stringContaining(
        "Nothing is placed yet. The call would be dialed within seconds.",
      ),
    });
    expect(await takeAccepted()).toEqual([]);
    const { confirmation } = first.data;
    // Fields in another order are the same call.
    const { context, ...others } = call;
    const confirmed = { context, ...others, confirmation };
    const answers = await Promise.all([1, 2, 3].map(() => ofWriter.use("place_call", confirmed)));
    answers.push(await ofWriter.use("place_call", confirmed));
    const [accepted, ...more] = await takeAccepted();
    expect(more).toEqual([]);
    for (const { data } of answers) {
      expect(data).toMatchObject({ placed: true, request_id: accepted?.requestId });
    }
    const again = await ofWriter.use("place_call", call);
    expect(again.data).toMatchObject({ placed: false, placed_before: true });
    expect(again.data["confirmation"]).not.toBe(confirmation);
  });

  it(
    "keeps a confirmation through its own restart",
    async () => {
      const one = { ...call, phone_number: "+12025550177" };
      const { confirmation } = (await ofWriter.use("place_call", one)).data;
      const both = { ...operator, OUTBOUND_CALLS_TOKEN: tokens.crm };
      const others = await Promise.all([1, 2].map(() => start(both, "--", "--write")));
      const answers = [ofWriter, ...others].map((assistant) =>
        assistant.use("place_call", { ...one, confirmation }),
      );
      const requests = (await Promise.all(answers)).map(({ data }) => data["request_id"]);
      const accepted = await takeAccepted();
      expect(new Set(accepted.map(({ requestId }) => requestId)).size).toBe(1);
      expect(new Set(requests)).toEqual(new Set([accepted[0]?.requestId]));
      await Promise.all(others.map((assistant) => assistant.stop()));
    },
    startMsMax,
  );

  it("refuses a confirmation of another call", async () => {
    const { confirmation } = (await ofWriter.use("place_call", call)).data;
    const other = { ...call, phone_number: "+12025550124", confirmation };
    const refused = await ofWriter.use("place_call", other);
    expect(refused.isError).toBe(true);
    expect(refused.texts[0]).toContain("the confirmation is not of this call");
    expect(await takeAccepted()).toEqual([]);
  });

  it("says what refuses a call, and offers no confirmation for a call that would never be dialed", async () => {
    const refused = await ofWriter.use("place_call", { ...call, phone_number: "+33612345678" });
    expect(refused.data).toMatchObject({ placed: false, forecast: { outcome: "refused" } });
    expect(refused.data["say"]).toContain("The service would refuse the call: /phone_number ");
    expect(refused.data).not.toHaveProperty("confirmation");
  });
});
