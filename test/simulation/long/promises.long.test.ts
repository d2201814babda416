import { describe, expect, it } from "vitest";
import { backlogOf } from "#shared/calls/call-row.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { putDocument } from "#test/support/dialer-calls.ts";
import {
  type Answering,
  createSimulation,
  host,
  percentile,
  placed,
  shapes,
  unknown,
  vapi,
} from "../dispatch-bench.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";

/** Promises to clients who share accounts, deliveries and time, in simulated time over the real core. */

const quickMs = 100;
const throttled = (retryAfterSeconds?: number): DialOutcome => ({
  kind: "not_placed",
  code: "http_429",
  retryAfterSeconds,
});
/** An answer that never comes: the request ends at its time limit. */
const timedOut: DialOutcome = { kind: "unknown", code: "time_out" };
const hangMs = 20_000;

/** Answers calls of agents that `isBad` names by `bad`, and places all others. */
const answering =
  (isBad: (agent: string) => boolean, bad: { ms: number; outcome: DialOutcome }): Answering =>
  ({ request }) =>
    isBad(request.agent_id) ? bad : { ms: quickMs, outcome: placed };

describe("two clients with one account of 2 calls a second", () => {
  const plan = {
    agents: { bad: vapi("assistant-bad"), good: vapi("assistant-good") },
    providers: { vapi: { callsPerSecond: 2 } },
  };

  const cases = [
    { what: "no answer", ms: hangMs, outcome: timedOut, requestsMax: 60 },
    { what: "429 for a second", ms: quickMs, outcome: throttled(1), requestsMax: 250 },
    { what: "429 for 30 days", ms: quickMs, outcome: throttled(30 * 86_400), requestsMax: 5 },
    { what: "500", ms: quickMs, outcome: unknown, requestsMax: 20 },
    {
      what: "422",
      ms: quickMs,
      outcome: { kind: "rejected", code: "http_422" } as const,
      requestsMax: 90,
    },
    { what: "429", ms: quickMs, outcome: throttled(), requestsMax: 120 },
  ];
  it.each(cases)(
    "keep half of the pace each, whatever the other is answered: $what",
    async ({ ms, outcome, requestsMax }) => {
      const answer = answering((agent) => agent === "bad", { ms, outcome });
      const one = createSimulation({ shape: shapes.small, plan, answer });
      await one.post("bad", "bad", 2_000);
      const good = await one.post("good", "good", 600);
      await one.pass(620);
      const waits = one.waits(good);
      expect(waits).toHaveLength(600);
      // Half of the pace would take 600 s.
      expect(waits.at(-1)).toBeLessThan(600);
      expect(one.requests(({ client }) => client === "bad")).toBeLessThan(requestsMax);
    },
  );
});

describe("an account with many backlogs", () => {
  it("is shared evenly though 520 finished backlogs stand between two clients' names", async () => {
    const names = Array.from({ length: 520 }, (_, n) => `m${String(n).padStart(3, "0")}`);
    const others = Object.fromEntries(names.map((name) => [name, host("other")]));
    const plan = {
      agents: { ...others, a: vapi("assistant-a"), z: vapi("assistant-z") },
      providers: { vapi: { callsPerSecond: 1 } },
    };
    const answer: Answering = () => ({ ms: quickMs, outcome: placed });
    const one = createSimulation({ shape: shapes.small, plan, answer });
    for (const agentId of names) {
      const of = { client: agentId, agentId };
      const value = {
        ...of,
        mode: "live" as const,
        usedAt: one.startedAt,
        answers: "quick" as const,
      };
      await putDocument(one.bench, { kind: "backlog", key: backlogOf(of) }, value);
    }
    const first = await one.post("a", "a", 250);
    const last = await one.post("z", "z", 250);
    await one.pass(515);
    expect([one.waits(first).length, one.waits(last).length]).toEqual([250, 250]);
    expect(Math.abs((one.waits(first).at(-1) ?? 0) - (one.waits(last).at(-1) ?? 0))).toBeLessThan(
      5,
    );
  });

  it("takes few queries where 1,700 of them are paused", async () => {
    const agents = Array.from({ length: 340 }, (_, n) => `agent_${n}`);
    const plan = { agents: Object.fromEntries(agents.map((name) => [name, host(name)])) };
    const answer: Answering = () => ({ ms: quickMs, outcome: placed });
    const one = createSimulation({ shape: shapes.small, plan, answer });
    for (const agent of agents) {
      const order = { of: { agent }, by: "ops", at: one.startedAt };
      await putDocument(one.bench, pauseKeyOf({ agent }), order);
      for (let n = 0; n < 5; n++) await one.post(`client_${n}`, agent, 1);
    }
    await one.pass(70);
    one.queries.count = 0;
    await one.pass(60);
    expect(one.bench.dialed).toEqual([]);
    expect(one.queries.count).toBeLessThan(700);
  });
});

describe("a single call of a client, beside 5,000 of another on an account of 20 a second", () => {
  it.each([
    { ledgerMs: 5, mostSeconds: 10 },
    { ledgerMs: 400, mostSeconds: 10 },
    { ledgerMs: 700, mostSeconds: 15 },
  ])(
    "goes within $mostSeconds s where the ledger takes $ledgerMs ms",
    async ({ ledgerMs, mostSeconds }) => {
      const plan = {
        agents: { batch: vapi("assistant-a"), single: vapi("assistant-b") },
        providers: { vapi: { callsPerSecond: 20 } },
      };
      const answer: Answering = () => ({ ms: quickMs, outcome: placed });
      const one = createSimulation({ shape: shapes.small, plan, answer, ledgerMs, isKnown: true });
      await one.post("batch", "batch", 5_000);
      const fresh: string[] = [];
      await one.pass(20);
      for (let n = 0; n < 20; n++) {
        fresh.push(...(await one.post("single", "single", 1)));
        await one.pass(5);
      }
      await one.pass(20);
      const waits = one.waits(fresh);
      expect(waits).toHaveLength(20);
      expect(waits.at(-1)).toBeLessThan(mostSeconds);
    },
  );
});

describe("a single call of a client, beside forty requests of another that take ten seconds to split", () => {
  it("is dialed within a second, as half of the deliveries split", async () => {
    const plan = { agents: { many: host("many"), quick: host("quick") } };
    const answer = answering(() => false, { ms: quickMs, outcome: placed });
    const one = createSimulation({ shape: shapes.aws, plan, answer, isKnown: true });
    one.bench.deps.rowsPerSecond = 50; // ten seconds between two writes of 500 rows
    const posted = await Promise.all(
      Array.from({ length: 40 }, () => one.post("many", "many", 600)),
    );
    const ids: string[] = [];
    for (let second = 0; second < 60; second += 2) {
      ids.push(...(await one.post("clinic", "quick", 1)));
      await one.pass(2);
    }
    const waits = one.waits(ids);
    expect(waits).toHaveLength(30);
    expect(percentile(waits, 0.95)).toBeLessThanOrEqual(1);
    await one.pass(900);
    expect(one.waits(posted.flat()).length).toBeGreaterThan(23_999);
  });
});

describe("hosts that do not answer", () => {
  it.each(
    Object.entries(shapes).flatMap(([name, shape]) =>
      [1, 40].map((hosts) => ({ name, shape, hosts })),
    ),
  )("leave other accounts quick: $hosts of them on the shape $name", async ({ shape, hosts }) => {
    const bad = Array.from({ length: hosts }, (_, n) => `bad-${n}`);
    const plan = {
      agents: Object.fromEntries(["fresh", "rows", ...bad].map((agent) => [agent, host(agent)])),
    };
    const answer = answering((agent) => bad.includes(agent), { ms: hangMs, outcome: timedOut });
    const one = createSimulation({ shape, plan, answer });
    for (const name of ["fresh", "rows"]) await one.know(`webhook:https://${name}.example`);
    for (const agent of bad) await one.post(agent, agent, 200);
    const fresh: string[] = [];
    const rows: string[] = [];
    for (let second = 0; second < 60; second++) {
      if (second % 10 === 5) rows.push(...(await one.post("rows", "rows", 100)));
      fresh.push(...(await one.post("fresh", "fresh", 1)));
      await one.pass(1);
    }
    await one.pass(30);
    const [freshWaits, rowWaits] = [one.waits(fresh), one.waits(rows)];
    expect([freshWaits.length, rowWaits.length]).toEqual([fresh.length, rows.length]);
    expect(percentile(rowWaits, 0.95)).toBeLessThan(5);
    expect(percentile(freshWaits, 0.95)).toBeLessThan(1);
  });
});

describe("an outage of 90 s while calls are due", () => {
  const outageMs = 90_000;
  it.each([
    { calls: 5_000, backlogs: 200, shape: shapes.aws },
    { calls: 500, backlogs: 1, shape: shapes.small },
    { calls: 5_000, backlogs: 1, shape: shapes.aws },
    { calls: 5_000, backlogs: 1_000, shape: shapes.cloudflare },
  ])(
    "meets few of $calls calls of $backlogs backlogs, and delays the others little",
    async ({ calls, backlogs, shape }) => {
      const plan = { agents: { agent: host("one") } };
      const answer: Answering = (_, { now }) =>
        now() < endsAt ? { ms: quickMs, outcome: unknown } : { ms: quickMs, outcome: placed };
      const one = createSimulation({ shape, plan, answer });
      const endsAt = one.startedAt + outageMs;
      for (let n = 0; n < backlogs; n++) {
        await one.post(`client_${n}`, "agent", Math.ceil(calls / backlogs));
      }
      await one.pass(outageMs / 1000);
      const sentInto = one.bench.dialed.length;
      expect(sentInto).toBeLessThanOrEqual(60 + 2 * shape.consumers * shape.concurrency);
      await one.pass(240);
      expect(new Set(one.bench.dialed.map(({ call }) => call.id)).size).toBe(calls);
      expect(one.bench.dialed).toHaveLength(calls);
    },
  );
});

describe("10,000 calls of a request", () => {
  it("stand as rows within 20 s, and go evenly beside another client's", async () => {
    const plan = { agents: { a: host("one"), b: host("one") } };
    const answer: Answering = () => ({ ms: quickMs, outcome: placed });
    const one = createSimulation({ shape: shapes.cloudflare, plan, answer, isKnown: true });
    const first = new Set(await one.post("a", "a", 10_000));
    await one.post("b", "b", 10_000);
    let rowsAfter = 0;
    while (one.bench.eventsOf("request.split").length < 2) {
      await one.pass(1);
      rowsAfter += 1;
    }
    expect(rowsAfter).toBeLessThan(20);
    while (one.bench.dialed.length < 10_000) await one.pass(1);
    const ofFirst = one.bench.dialed.filter(({ call }) => first.has(call.id)).length;
    const half = one.bench.dialed.length / 2;
    expect(Math.abs(ofFirst - half)).toBeLessThan(0.02 * half + 25);
  });
});
