import { describe, expect, it } from "vitest";
import { setReceivers } from "#test/support/client-receivers-bench.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { aCallNow, message, webhook } from "#test/support/dialer-calls.ts";

const agent = "Ada Lovelace +13035550199";
const plan = { agents: { agent_named: webhook, "*": webhook }, results: {} };

const create = () => createDialerBench({ startAt: "2026-11-24T12:00:00Z", plan });

type Bench = ReturnType<typeof create>;

const place = async (bench: Bench, agentId: string) => {
  await bench.send(message(aCallNow(bench, { agent_id: agentId })));
  await bench.simulate(20);
};

const fieldsOf = (bench: Bench, event: string) =>
  bench.eventsOf(event).map(({ agent_id, breaker, receiver }) => agent_id ?? breaker ?? receiver);

describe("the log", () => {
  it("names agents of the plan, and no agent that a client has named, as by a number", async () => {
    const bench = create();
    for (const name of [agent, "agent_named"]) await place(bench, name);
    expect(fieldsOf(bench, "call.placed")).toEqual(["*", "agent_named"]);
    expect(JSON.stringify(bench.events)).not.toContain("0199");
  });

  it("names no such agent in the key of a backlog's breaker", async () => {
    const bench = create();
    bench.answer = async () => ({ kind: "route_refused", code: "http_404" });
    for (const name of [agent, "agent_named"]) await place(bench, name);
    expect(fieldsOf(bench, "breaker.opened")).toEqual([
      'backlog:["crm","*"]',
      'backlog:["crm","agent_named"]',
    ]);
    expect(JSON.stringify(bench.events)).not.toContain("0199");
  });

  it("names the client of a lost route, but not its agent", async () => {
    const bench = create();
    bench.answer = async () => ({ kind: "route_refused", code: "http_404" });
    await place(bench, agent);
    bench.changePlan({ agents: { agent_named: webhook } });
    await bench.simulate(60);
    expect(bench.eventsOf("route.gone")).toMatchObject([{ client: "crm" }]);
    expect(JSON.stringify(bench.events)).not.toContain("0199");
  });

  it("names whose own receiver took an event, and not the receiver", async () => {
    const bench = create();
    await setReceivers(bench, "crm", { "13035550123": {} });
    await place(bench, "agent_named");
    await bench.deliverEvents();
    expect(fieldsOf(bench, "event.delivered")).toEqual(["own:crm"]);
    expect(JSON.stringify(bench.events)).not.toContain("0123");
  });
});
