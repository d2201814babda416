import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { accountBreakerOf } from "#shared/policy/breakers.ts";
import { openBreaker } from "#test/support/breakers-bench.ts";
import { type Bench, pause, resume } from "#test/support/dialer-calls.ts";
import { removeCurrent } from "#test/support/documents.ts";
import { perTier } from "#test/support/per-tier.ts";
import { busy, completed, createBench, pollAfter, twilio } from "#test/support/results-bench.ts";
import { retry } from "#test/support/retry-bench.ts";
import { armViolations, listRows, postToSplit } from "./split-rules.ts";

const minuteMs = 60_000;
const armNames = ["agent_a", "agent_b"] as const;
type Arm = (typeof armNames)[number];
const routes = {
  agent_a: { ...twilio.agents.agent_sales, retry },
  agent_b: { provider: "vapi", agent: "a", from: "f", retry },
};
const accounts = { agent_a: "twilio", agent_b: "vapi" };
/** Time in which what was begun before an order is dialed. */
const orderMsMax = 15_000;

const arm = fc.constantFrom(...armNames);
const weights = fc
  .record({ agent_a: fc.integer({ min: 0, max: 3 }), agent_b: fc.integer({ min: 0, max: 3 }) })
  .filter(({ agent_a: a, agent_b: b }) => a + b > 0);
/** One event in the life of a split. They come in any order. */
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ post: fc.array(fc.nat(7), { minLength: 1, maxLength: 9 }) }),
  },
  fc.record({ pause: fc.constantFrom(...armNames, "agent_any" as const) }),
  fc.record({ breaker: arm }),
  fc.record({ lose: arm }),
  fc.record({ weights }),
  fc.constantFrom("free" as const, "restart" as const, "deliver again" as const),
  { weight: 2, arbitrary: fc.record({ pass: fc.integer({ min: 1, max: 40 }) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** A split and its calls, whose promises are checked as time passes. */
function createSplit(begun: Record<Arm, number>) {
  const state = { weights: begun, lost: new Set<Arm>(), held: new Set<Arm>() };
  const planNow = () => {
    const split = Object.fromEntries(
      armNames.filter((name) => !state.lost.has(name)).map((name) => [name, state.weights[name]]),
    );
    const own = Object.fromEntries(Object.entries(routes).filter(([name]) => name in split));
    // An arm that is left alone gets all calls, whatever its weight was.
    const only = Object.keys(split).length === 1 ? Object.keys(split)[0] : undefined;
    const arms = only === undefined ? split : { [only]: 1 };
    return { agents: { ...own, agent_any: { split: arms } }, results: {} };
  };
  const bench = createBench({}, planNow());
  bench.record = async ({ id }) => (id.charCodeAt(20) % 2 === 0 ? busy : completed);
  let last: Parameters<Bench["send"]>[0] | undefined;

  async function post(persons: readonly number[]): Promise<void> {
    const callees = persons.map((person) => ({ phone_number: `+1212555010${person}` }));
    last = await postToSplit(bench, callees);
    await bench.simulate(5);
  }
  async function free(): Promise<void> {
    await resume(bench, { agent: "agent_any" }).catch(() => undefined);
    for (const name of state.held) {
      await resume(bench, { agent: name }).catch(() => undefined);
      const key = { kind: "breaker", key: accountBreakerOf(accounts[name]) } as const;
      await removeCurrent(bench.documents, key).catch(() => undefined);
    }
    state.held.clear();
    state.lost.clear();
    bench.changePlan(planNow());
  }
  /** Lets time pass, in which no call of an arm that is held or lost may be dialed. */
  async function pass(minutes: number): Promise<string[]> {
    const from = bench.now() + orderMsMax;
    await bench.simulate(minutes * 60);
    await pollAfter(bench, 1);
    const later = bench.dialed.filter(({ at }) => at > from);
    const made = new Set(later.map(({ call }) => call.request.agent_id));
    return armNames.flatMap((name) =>
      (state.held.has(name) || state.lost.has(name)) && made.has(name)
        ? [`${name} is held, and dialed`]
        : [],
    );
  }
  async function take(one: Step): Promise<string[]> {
    if (one === "free") await free();
    else if (one === "restart") bench.deps.memory = createDialerMemory();
    else if (one === "deliver again") await (last && bench.send(last));
    else if ("post" in one) await post(one.post);
    else if ("pause" in one) await pause(bench, { agent: one.pause });
    else if ("breaker" in one) {
      const probeAt = bench.now() + 100 * 24 * 60 * minuteMs;
      await openBreaker(bench, accountBreakerOf(accounts[one.breaker]), { probeAt });
    } else if ("lose" in one) state.lost = new Set([one.lose]);
    else if ("weights" in one) state.weights = one.weights;
    else return pass(one.pass);
    // A pause of the split holds all of its arms.
    if (typeof one === "object" && "pause" in one)
      for (const name of armNames)
        if (one.pause === name || one.pause === "agent_any") state.held.add(name);
    if (typeof one === "object" && "breaker" in one) state.held.add(one.breaker);
    if (typeof one === "object" && ("lose" in one || "weights" in one)) bench.changePlan(planNow());
    return [];
  }
  return { bench, state, take, pass };
}

/** Checks the rows and requests of a split at the end. */
async function violations({ bench, state }: ReturnType<typeof createSplit>) {
  const rows = await listRows(bench);
  const found = armViolations(rows, bench);
  for (const { id, agentId, state: at, dueAt } of rows) {
    const isFree = armNames.some(
      (name) => name === agentId && !state.held.has(name) && !state.lost.has(name),
    );
    if (at === "WAITING" && isFree && (dueAt ?? 0) < bench.now() - 10 * minuteMs)
      found.push(`${id} of ${agentId} waits, though nothing holds it`);
  }
  return found;
}

describe("a split", () => {
  it("gives each person one arm, and only that arm's troubles hold its calls", async () => {
    const property = async (begun: Record<Arm, number>, steps: readonly Step[]) => {
      const split = createSplit(begun);
      const found: string[] = [];
      for (const one of steps) found.push(...(await split.take(one)));
      found.push(...(await split.pass(45)), ...(await violations(split)));
      expect(found).toEqual([]);
    };
    await fc.assert(fc.asyncProperty(weights, fc.array(step, { maxLength: 14 }), property), {
      numRuns: perTier({ quick: 3, long: 150 }),
    });
  });
});
