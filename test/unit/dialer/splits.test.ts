import { describe, expect, it } from "vitest";
import { resultsIn, resultsKeyOf, roundKeyOf } from "#shared/policy/split-rounds.ts";
import { handleDeadLetter } from "#functions/dialer/consume/handle-stored-letters.ts";
import { parseSplitMark } from "#shared/calls/split-mark.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { aRequestId } from "#test/support/calls.ts";
import {
  aCallNow,
  type Bench,
  boom,
  callsNow,
  idsDialed,
  message,
  pause,
  resume,
  request,
  rowOf,
  sendEach,
  stateOf,
} from "#test/support/dialer-calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  busy,
  completed,
  createBench,
  nothing,
  pollAfter,
  pollMinuteAfter,
  twilio,
} from "#test/support/results-bench.ts";
import { retry } from "#test/support/retry-bench.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const startAt = "2026-06-01T10:00Z";
const webhook = (name: string) => ({ provider: "webhook", url: `http://127.0.0.1:9/${name}` });
const arms = { agent_a: webhook("a"), agent_b: webhook("b") };
const planOf = (split: object, more: object = {}) => ({
  agents: { ...arms, agent_any: { split } },
  results: {},
  ...more,
});
const half = { agent_a: 50, agent_b: 50 };

/** Sends calls to the split, and resolves to the agents that have dialed them, by number. */
async function dialEach(bench: Bench, count: number): Promise<Map<string, string>> {
  const before = bench.dialed.length;
  await sendAll(bench, count);
  await bench.simulate(count + 10);
  const dialed = bench.dialed.slice(before).map(({ call }) => call.request);
  expect(dialed).toHaveLength(count);
  return new Map(dialed.map(({ phone_number, agent_id }) => [phone_number, agent_id]));
}

/** Sends one request of calls to the split. */
async function sendAll(bench: Bench, count: number) {
  const requestId = aRequestId(bench.now());
  const calls = callsNow(bench, count, { agent_id: "agent_any" }).map((call, index) => ({
    ...call,
    requestId,
    id: toCallId(requestId, index),
  }));
  await bench.send(request(calls));
  return calls;
}

async function roundOf(bench: Bench) {
  const { kind, key } = roundKeyOf("agent_any");
  return (await bench.documents.read([{ kind, key }])).get("split", key)?.value;
}

describe("a call to a split", () => {
  it("is made by the agent of its row, which says which split has chosen it", async () => {
    const bench = createDialerBench({ startAt, plan: planOf(half) });
    const call = aCallNow(bench, { agent_id: "agent_any" });
    await bench.send(message(call));
    await bench.simulate(5);
    expect(idsDialed(bench)).toEqual([call.id]);
    const { agentId, split = "", route } = await rowOf(bench, call);
    expect(Object.keys(arms)).toContain(agentId);
    expect(route?.url).toBe(webhook(agentId.slice(-1)).url);
    expect(parseSplitMark(split)).toEqual({ name: "agent_any", since: Date.parse(startAt) });
    expect(bench.dialed[0]?.call.request.agent_id).toBe(agentId);
  });

  it("of a large request has its arm in its first row", inSlowTier, async () => {
    const bench = createDialerBench({ startAt, plan: planOf(half) });
    const agents = await dialEach(bench, 60);
    const others = await dialEach(bench, 60);
    expect(new Set(agents.values())).toEqual(new Set(Object.keys(arms)));
    expect(others).toEqual(agents); // each callee meets the same arm again
  });

  it("keeps its arm, when the weights change before its message is delivered again", async () => {
    const bench = createDialerBench({ startAt, plan: planOf({ agent_a: 1, agent_b: 0 }) });
    await pause(bench, { agent: "agent_a" });
    const call = aCallNow(bench, { agent_id: "agent_any" });
    await bench.send(message(call));
    await bench.deliver();
    bench.changePlan(planOf({ agent_a: 0, agent_b: 1 }));
    // The delivery reads what holds the arm of the row, not only of the arm that it would choose.
    await bench.send(message(call));
    await bench.simulate(30);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", agentId: "agent_a" });
    expect(bench.dialed).toEqual([]);
  });

  it("waits for a pause of its arm, and for one of the split", async () => {
    for (const agent of ["agent_a", "agent_any"]) {
      const bench = createDialerBench({ startAt, plan: planOf({ agent_a: 1 }) });
      await pause(bench, { agent });
      const call = aCallNow(bench, { agent_id: "agent_any" });
      await bench.send(message(call));
      await bench.simulate(30);
      expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "paused" });
    }
  });

  it("waits for a pause of its split, once its arm has left that", async () => {
    const bench = createDialerBench({ startAt, plan: planOf({ agent_a: 1 }) });
    await pause(bench, { agent: "agent_any" });
    const call = aCallNow(bench, { agent_id: "agent_any" });
    await bench.send(message(call));
    await bench.simulate(30);
    bench.changePlan(planOf({ agent_b: 1 }));
    const other = aCallNow(bench, { agent_id: "agent_a" });
    await sendEach(bench, other);
    await bench.simulate(400);
    expect(idsDialed(bench)).toEqual([other.id]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "paused" });
    await resume(bench, { agent: "agent_any" });
    await bench.simulate(400);
    expect(idsDialed(bench)).toEqual([other.id, call.id]);
  });

  it("has the hours of its arm", async () => {
    const callingHours = { default: "always", late: { "mon-sun": ["18:00-20:00"] } };
    const agents = { ...arms, agent_a: { ...arms.agent_a, callingHours: "late" } };
    const plan = { agents: { ...agents, agent_any: { split: half } }, callingHours, results: {} };
    const bench = createDialerBench({ startAt, plan });
    const calls = await sendAll(bench, 40);
    await bench.simulate(60);
    for (const call of calls) {
      const { agentId, state } = await rowOf(bench, call);
      expect(state).toBe(agentId === "agent_a" ? "WAITING" : "PLACED");
    }
  });

  it("is not lost while its round cannot be read", async () => {
    const bench = createDialerBench({ startAt, plan: planOf(half) });
    const { read } = bench.deps.documents;
    const call = aCallNow(bench, { agent_id: "agent_any" });
    bench.deps.documents.read = boom;
    await bench.send(message(call));
    await bench.deliver();
    expect(bench.events.map(({ event }) => event)).toContain("ledger.unreachable");
    bench.deps.documents.read = read;
    await bench.simulate(120);
    expect(idsDialed(bench)).toEqual([call.id]);
  });

  it("waits like any other, once its arm has left the plan", async () => {
    const bench = createDialerBench({ startAt, plan: planOf({ agent_a: 1 }) });
    await pause(bench, { agent: "agent_a" });
    const call = aCallNow(bench, { agent_id: "agent_any" });
    await bench.send(message(call));
    await bench.deliver();
    bench.changePlan({
      agents: { agent_b: arms.agent_b, agent_any: { split: { agent_b: 1 } } },
      results: {},
    });
    await bench.simulate(90);
    expect(await stateOf(bench, call)).toBe("WAITING");
    expect(bench.dialed).toEqual([]);
  });

  it("that never got through goes to a person with its arm", async () => {
    const bench = createDialerBench({ startAt, plan: planOf({ agent_b: 1 }) });
    const call = aCallNow(bench, { agent_id: "agent_any" });
    const open = async () => JSON.stringify(message(call));
    expect(await handleDeadLetter({ attempt: 1, id: "dead", open }, bench.deps)).toBe("done");
    expect(await rowOf(bench, call)).toMatchObject({
      state: "NEEDS_REVIEW",
      agentId: "agent_b",
      split: `${bench.now()} agent_any`,
    });
  });

  it("by a test token is made by an arm, and names its split", async () => {
    const bench = createDialerBench({ startAt, plan: planOf({ agent_b: 1 }) });
    const phone_number = "+12025550123";
    const of = { client: "test:crm", mode: "test" } as const;
    const call = aCallNow(bench, { agent_id: "agent_any", phone_number }, of);
    await bench.send(message(call));
    await bench.simulate(5);
    const split = `${Date.parse(startAt)} agent_any`;
    expect(await rowOf(bench, call)).toMatchObject({ agentId: "agent_b", split });
  });
});

describe("the round of a split", () => {
  it("begins with the first call under other weights, and keeps its key", async () => {
    const bench = createDialerBench({ startAt, plan: planOf(half) });
    await dialEach(bench, 1);
    const first = await roundOf(bench);
    bench.advance(3_600_000);
    bench.changePlan(planOf(half));
    await dialEach(bench, 1);
    expect(await roundOf(bench)).toEqual(first);
    bench.changePlan(planOf({ agent_a: 90, agent_b: 10 }));
    await dialEach(bench, 1);
    const second = await roundOf(bench);
    expect(second).toMatchObject({ key: first?.key, arms: { agent_a: 90, agent_b: 10 } });
    expect(second?.since).toBeGreaterThan(first?.since ?? Infinity);
  });

  it("gives callees the same arms in a ledger that is restored to before it", async () => {
    const before = createDialerBench({ startAt, plan: planOf(half) });
    const restored = createDialerBench({ startAt, plan: planOf(half) });
    // Other versions than before: the benches draw them in the same order.
    await sendEach(restored, aCallNow(restored, { agent_id: "agent_a" }));
    await restored.simulate(5);
    expect(await dialEach(restored, 20)).toEqual(await dialEach(before, 20));
    expect((await roundOf(restored))?.key).toBe((await roundOf(before))?.key);
  });

  it("costs no read where no call goes to a split", async () => {
    const bench = createDialerBench({ startAt, plan: planOf(half) });
    await sendEach(bench, aCallNow(bench, { agent_id: "agent_a" }));
    await bench.simulate(5);
    expect(await roundOf(bench)).toBeUndefined();
  });
});

/** A split of two agents whose calls have results, and one of which has retries. */
function createResultBench(detectPoints = 50): Bench {
  const agent = twilio.agents.agent_sales;
  const agents = {
    agent_a: { ...agent, retry },
    agent_b: agent,
    agent_any: { split: half, detectPoints },
  };
  return createBench({}, { agents });
}

/** Reads the results of both arms. */
async function resultsOf(bench: Bench) {
  const of = { name: "agent_any", since: (await roundOf(bench))?.since ?? 0 };
  const keys = Object.keys(half).map((arm) => resultsKeyOf(of, arm));
  const read = await bench.documents.read(keys);
  return { a: resultsIn(read, of, "agent_a"), b: resultsIn(read, of, "agent_b") };
}

describe("results of a split", () => {
  it(
    "count each chain once, when its last try ends, under the arm of all its tries",
    inSlowTier,
    async () => {
      const bench = createResultBench();
      const agents = await dialEach(bench, 20);
      const ofA = [...agents.values()].filter((agent) => agent === "agent_a").length;
      bench.record = async () => busy;
      await pollMinuteAfter(bench, 2);
      // Calls of agent_a were busy and are tried again; those of agent_b have no retry, so that their chains have ended.
      const first = await resultsOf(bench);
      expect(first.b.ended).toBe(20 - ofA);
      expect(first.a.ended).toBe(0);
      bench.record = async () => completed;
      await bench.simulate(20 * 60);
      await pollAfter(bench, 3);
      expect(bench.dialed).toHaveLength(20 + ofA);
      for (const { call } of bench.dialed.slice(20)) expect(call.request.agent_id).toBe("agent_a");
      const last = await resultsOf(bench);
      expect(last.a).toEqual({ ended: ofA, answered: ofA, completed: ofA });
      expect(last.b).toEqual({ ended: 20 - ofA, answered: 0, completed: 0 });
    },
  );

  it("leave out calls that nobody knows the result of, until it is known", async () => {
    const bench = createResultBench();
    await dialEach(bench, 4);
    bench.record = async () => ({ ...nothing, status: "unknown", word: "odd" });
    await pollAfter(bench, 2);
    const { a, b } = await resultsOf(bench);
    expect(a.ended + b.ended).toBe(0);
  });

  it("are judged once all arms have their chains, and not again", async () => {
    const bench = createResultBench(); // a difference of 50 points is shown by 16 chains of each arm
    await dialEach(bench, 20);
    bench.record = async () => completed;
    await pollAfter(bench, 2);
    await bench.upkeep();
    expect((await roundOf(bench))?.verdict).toBeUndefined();
    await dialEach(bench, 60);
    await pollAfter(bench, 2);
    await bench.upkeep();
    const { a } = await resultsOf(bench);
    const verdict = (await roundOf(bench))?.verdict;
    expect(verdict?.arms.agent_a).toEqual(a);
    expect(bench.events.filter(({ event }) => event === "split.judged")).toHaveLength(1);
    await dialEach(bench, 20);
    await pollAfter(bench, 2);
    await bench.upkeep();
    expect((await roundOf(bench))?.verdict).toEqual(verdict);
    expect(bench.events.filter(({ event }) => event === "split.judged")).toHaveLength(1);
  });
});
