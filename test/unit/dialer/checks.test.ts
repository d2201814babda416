import { routeFrom } from "#test/support/plans.ts";
import { describe, expect, it } from "vitest";
import { accountNameOf } from "#shared/calls/call-request.ts";
import type { CheckAnswer } from "#shared/policy/check-answers.ts";
import { doNotCallKeysOf, isOnDoNotCallList } from "#shared/policy/number-entries.ts";
import { appendEntry, applyEntries } from "#shared/policy/journal-entries.ts";
import { countRemovals } from "#shared/policy/listing-order.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  type Bench,
  callsNow,
  dispatchOf,
  message,
  neverCall,
  putDocument,
  putIn,
  rowOf,
  rowsIn,
  webhook,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const agents = {
  agent_sales: { ...webhook, checks: ["crm"] },
  agent_support: webhook,
  agent_both: { ...webhook, checks: ["crm", "consent"] },
};
const crm = { url: "http://127.0.0.1:9/crm" };
const plan = { agents, checks: { crm, consent: { url: "http://127.0.0.1:9/consent" } } };
const startAt = "2026-06-01T15:00Z";
const minute = 60;

const create = (more: object = {}) => createDialerBench({ plan, startAt, ...more });

async function send(bench: Bench, count: number, agent_id = "agent_sales", more: object = {}) {
  const calls = callsNow(bench, count, { agent_id }, more);
  await bench.send(...calls.map(message));
  return calls;
}

const breakerOf = async (bench: Bench, check: string) => {
  const key = `check:${check}`;
  return (await bench.documents.read([{ kind: "breaker", key }])).get("breaker", key)?.value;
};

describe("a check before the call", () => {
  it("is asked before the claim, and its evidence stands in the history", inSlowTier, async () => {
    const bench = create();
    bench.check = async () => ({ decision: "call", evidence: "consent 12" });
    const [call] = await send(bench, 1, "agent_sales");
    await bench.simulate(10);
    expect(bench.asked).toHaveLength(1);
    const { check, body, at, limitMs } = bench.asked[0] ?? {};
    expect(check).toBe("crm");
    expect(limitMs).toBe(3_000);
    expect(JSON.parse(body ?? "")).toEqual({
      id: call?.id,
      agent_id: "agent_sales",
      phone_number: call?.request.phone_number,
      timezone: "America/Denver",
      timezones: ["America/Denver"],
      local_time: "2026-06-01T09:00:00-06:00",
      try: 1,
    });
    const row = await rowOf(bench, { id: call?.id ?? "" });
    expect(row.state).toBe("PLACED");
    const claim = row.history.find(({ state }) => state === "DIALING");
    expect(claim?.checks).toEqual([{ check: "crm", at, evidence: "consent 12" }]);
  });

  it("is not asked about calls of agents without checks", async () => {
    const bench = create();
    await send(bench, 3, "agent_support");
    await bench.simulate(10);
    expect([bench.asked.length, bench.dialed.length]).toEqual([0, 3]);
  });

  it.each<{ answer: CheckAnswer; state: string; reason: string }>([
    {
      answer: { decision: "refuse", reason: "customer" },
      state: "REJECTED",
      reason: "check_refused:crm:customer",
    },
    { answer: { decision: "never" }, state: "REJECTED", reason: "check_never:crm" },
    {
      answer: { decision: "failed", code: "time_out" },
      state: "WAITING",
      reason: "check_failed:crm",
    },
    {
      answer: { decision: "wait", until: Date.parse(startAt) + 600_000 },
      state: "WAITING",
      reason: "check_wait:crm",
    },
  ])("that answers $answer.decision keeps the call from being dialed", async (one) => {
    const bench = create();
    bench.check = async () => one.answer;
    const [call] = await send(bench, 1);
    await bench.simulate(30);
    expect(bench.dialed).toEqual([]);
    const { state, reason } = await rowOf(bench, call ?? { id: "" });
    expect({ state, reason }).toEqual({ state: one.state, reason: one.reason });
  });

  it("that says never puts the number onto the do-not-call list", async () => {
    const bench = create();
    bench.check = async () => ({ decision: "never" });
    const [call] = await send(bench, 1);
    await bench.simulate(10);
    const { numbers } = bench.deps.settings;
    const hashes = numbers.own(call?.request.phone_number ?? "");
    const read = await bench.documents.read(doNotCallKeysOf(hashes));
    expect(isOnDoNotCallList({ hashes }, read, numbers.keyNames)).toBe(true);
    // A restore of the ledger brings it back.
    const [name = ""] = await bench.deps.journal.list({ limit: 9 });
    expect(JSON.parse((await bench.deps.journal.read(name)) ?? "{}")).toEqual({
      at: expect.any(Number),
      kind: "list",
      entries: hashes,
      removals: [0],
    });
  });

  it("that says never has the number listed after a restore, though it is removed at that moment", async () => {
    const bench = create();
    bench.check = async () => ({ decision: "never" });
    const { deps, documents } = bench;
    const { journal } = deps;
    let isRemoved = false;
    deps.documents = {
      ...documents,
      async write(changes) {
        const entry = changes.find(({ next }) => next.kind === "do-not-call");
        if (entry !== undefined && !isRemoved) {
          isRemoved = true;
          // The number is in the journal, and not on the list yet.
          const entries = [entry.next.key];
          const removals = await countRemovals(entries, bench.now(), deps);
          await appendEntry({ kind: "unlist", entries, removals }, deps);
        }
        return documents.write(changes);
      },
    };
    const [call] = await send(bench, 1);
    await bench.simulate(10);
    expect(isRemoved).toBe(true);
    const restored = create();
    const names = await journal.list({ limit: 9 });
    const bodies = await Promise.all(names.map(async (name) => (await journal.read(name)) ?? ""));
    await applyEntries(bodies, restored.deps);
    const { numbers } = deps.settings;
    const hashes = numbers.own(call?.request.phone_number ?? "");
    const read = await restored.documents.read(doNotCallKeysOf(hashes));
    expect(isOnDoNotCallList({ hashes }, read, numbers.keyNames)).toBe(true);
  });

  it("that asks for a wait delays the call, and is asked again", async () => {
    const bench = create();
    const until = bench.now() + 10 * minute * 1000;
    bench.check = async () =>
      bench.now() < until ? { decision: "wait", until } : { decision: "call" };
    await send(bench, 1);
    await bench.simulate(9 * minute);
    expect([bench.asked.length, bench.dialed.length]).toEqual([1, 0]);
    await bench.simulate(2 * minute);
    expect([bench.asked.length, bench.dialed.length]).toEqual([2, 1]);
    expect(bench.dialed[0]?.at).toBeGreaterThanOrEqual(until);
  });

  it(
    "that fails is asked again at growing intervals, and the call is not lost",
    inSlowTier,
    async () => {
      const bench = create();
      bench.check = async () => ({ decision: "failed", code: "http_503" });
      await send(bench, 1);
      await bench.simulate(60 * minute);
      const gaps = bench.asked
        .slice(1)
        .map(({ at }, index) => Math.round((at - (bench.asked[index]?.at ?? 0)) / 60_000));
      expect(gaps.slice(0, 6)).toEqual([1, 1, 2, 4, 8, 15]);
      expect(bench.dialed).toEqual([]);
      bench.check = async () => ({ decision: "call" });
      await bench.simulate(16 * minute);
      expect(bench.dialed).toHaveLength(1);
    },
  );

  it(
    "is down for ten minutes: nothing is dialed, nothing lost, all dialed after",
    inSlowTier,
    async () => {
      const bench = create();
      const upAt = bench.now() + 600_000;
      bench.check = async () =>
        bench.now() < upAt ? { decision: "failed", code: "ECONNREFUSED" } : { decision: "call" };
      const calls = await send(bench, 40);
      await bench.simulate(10 * minute);
      expect(bench.dialed).toEqual([]);
      expect(await breakerOf(bench, "crm")).toMatchObject({ state: "open", cause: "check" });
      expect(bench.eventsOf("breaker.opened")).toMatchObject([
        { level: "alarm", breaker: "check:crm" },
      ]);
      // The breaker opens after five, and one probe at a time follows.
      expect(bench.asked.length).toBeLessThan(30);
      await bench.simulate(17 * minute);
      expect(bench.dialed).toHaveLength(40);
      expect(new Set(bench.dialed.map(({ call }) => call.id)).size).toBe(40);
      expect(await breakerOf(bench, "crm")).toBeUndefined();
      const states = await Promise.all(calls.map((call) => rowOf(bench, call)));
      expect(states.every(({ state }) => state === "PLACED")).toBe(true);
    },
  );

  it("that fails keeps only calls of its own agents waiting", inSlowTier, async () => {
    const bench = create();
    bench.check = async ({ check }) =>
      check === "consent" ? { decision: "failed", code: "http_500" } : { decision: "call" };
    await send(bench, 10, "agent_both");
    await send(bench, 10, "agent_sales");
    await send(bench, 10, "agent_support");
    await bench.simulate(30);
    const agentsDialed = new Set(bench.dialed.map(({ call }) => call.request.agent_id));
    expect([...agentsDialed].toSorted()).toEqual(["agent_sales", "agent_support"]);
    expect(bench.dialed).toHaveLength(20);
  });

  it("is asked at the same time as the agent's others", async () => {
    const bench = create();
    bench.check = async () => {
      await bench.sleep(1_500);
      return { decision: "call" };
    };
    await send(bench, 1, "agent_both");
    await bench.simulate(20);
    const [one, other] = bench.asked;
    expect([one?.check, other?.check]).toEqual(["crm", "consent"]);
    expect(one?.at).toBe(other?.at);
    expect(bench.dialed).toHaveLength(1);
  });

  it("has ten seconds, with the wait for a connection", async () => {
    const bench = create();
    const calls = callsNow(bench, 20, { agent_id: "agent_sales" });
    for (const call of calls) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    const begunAt = bench.now();
    bench.check = async () => {
      await bench.sleep(2_500);
      return { decision: "call" };
    };
    await bench.send(dispatchOf(calls));
    await bench.deliver();
    // Three at a time of five connections.
    expect(bench.asked).toHaveLength(9);
    expect(bench.asked.every(({ at }) => at <= begunAt + 7_000)).toBe(true);
    expect(bench.dialed).toHaveLength(9);
    const left = (await rowsIn(bench, "WAITING")).map(({ history, dueAt }) => ({ history, dueAt }));
    expect(left).toHaveLength(11);
    expect(new Set(left.map(({ dueAt }) => dueAt))).toEqual(new Set([begunAt]));
  });

  it("leaves half of a delivery's connections to others, with all checks of its agent", async () => {
    const slow = { ...crm, timeoutSeconds: 10 };
    const all = { ...webhook, checks: ["crm", "consent", "third"] };
    const far = { ...webhook, url: "http://127.0.0.1:10/dial" };
    const bench = create({
      plan: {
        agents: { agent_sales: all, agent_far: far },
        checks: { crm: slow, consent: slow, third: slow },
      },
    });
    bench.check = async ({ limitMs }) => {
      await bench.sleep(limitMs);
      return { decision: "failed", code: "time_out" };
    };
    bench.answer = async () => {
      await bench.sleep(500);
      return { kind: "placed" };
    };
    const calls = [
      ...callsNow(bench, 8, { agent_id: "agent_sales" }),
      ...callsNow(bench, 10, { agent_id: "agent_far" }),
    ];
    for (const call of calls) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    const begunAt = bench.now();
    const write = bench.rows.write.bind(bench.rows);
    bench.rows.write = async (changes) => {
      await bench.sleep(200); // the questions ask for connections first
      return write(changes);
    };
    const rows = calls.map(({ id, request }) => ({
      id,
      account: accountNameOf(
        routeFrom("webhook", request.agent_id === "agent_far" ? far : webhook),
      ),
    }));
    await bench.send({ kind: "dispatch", rows });
    await bench.deliver();
    expect(bench.dialed).toHaveLength(10);
    expect(bench.dialed.every(({ at }) => at < begunAt + 5_000)).toBe(true);
  });

  it("keeps its pace", async () => {
    const checks = { ...plan.checks, crm: { ...crm, requestsPerSecond: 2 } };
    const bench = create({ plan: { ...plan, checks } });
    await send(bench, 30);
    await bench.simulate(30);
    expect(bench.dialed).toHaveLength(30);
    const times = bench.asked.map(({ at }) => at);
    for (const [index, at] of times.entries())
      expect(at - (times[index - 1] ?? -Infinity)).toBeGreaterThanOrEqual(500);
  });

  it("is asked again by a call that could not be dialed while its answer was valid", async () => {
    const bench = create();
    let isBusy = true;
    bench.answer = async () =>
      isBusy
        ? { kind: "not_placed", code: "http_429", retryAfterSeconds: 300 }
        : { kind: "placed" };
    await send(bench, 1);
    await bench.simulate(20);
    isBusy = false;
    await bench.simulate(10 * minute);
    expect(bench.dialed.length).toBeGreaterThanOrEqual(2);
    expect(bench.asked).toHaveLength(2);
  });

  it("is not asked again while its answer is valid", async () => {
    const bench = create();
    let refusals = 2;
    bench.answer = async () =>
      refusals-- > 0
        ? { kind: "not_placed", code: "http_429", blamesNumber: true }
        : { kind: "placed" };
    await send(bench, 1);
    await bench.simulate(30);
    expect(bench.dialed).toHaveLength(3);
    expect(bench.asked).toHaveLength(1);
  });

  it("keeps its probe for a call that asks it, while its answer is valid for another", async () => {
    const bench = create();
    let isBusy = true;
    bench.answer = async () =>
      isBusy ? { kind: "not_placed", code: "http_429", blamesNumber: true } : { kind: "placed" };
    const [call] = callsNow(bench, 1, { agent_id: "agent_sales" });
    if (call === undefined) throw new Error("a call was asked for");
    await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    await bench.send(dispatchOf([call]));
    await bench.deliver();
    expect(bench.dialed).toHaveLength(1);
    isBusy = false;
    const now = bench.now();
    const times = { openedAt: now - 1, probeAt: now, intervalMs: 60_000, room: 0, blamed: [] };
    const value = { state: "open", cause: "check", code: "http_500", ...times } as const;
    await putDocument(bench, { kind: "breaker", key: "check:crm" }, value);
    const { dueAt } = await rowOf(bench, call);
    bench.advance(Math.max(0, (dueAt ?? 0) - now));
    await bench.send(dispatchOf([call]));
    await bench.deliver();
    expect([bench.asked.length, bench.dialed.length]).toEqual([1, 2]);
    expect(await breakerOf(bench, "crm")).toEqual(value);
  });

  it("permits a call for its validSeconds alone, as is seen right before the request", async () => {
    const checks = { ...plan.checks, crm: { ...crm, validSeconds: 5 } };
    const bench = create({ plan: { ...plan, checks } });
    let waitMs = 6_000;
    bench.prepare = async () => {
      await bench.sleep(waitMs);
      waitMs = 0;
    };
    const [call] = await send(bench, 1);
    await bench.simulate(30);
    const { history } = await rowOf(bench, call ?? { id: "" });
    expect(history.map(({ reason }) => reason)).toContain("check_outdated");
    expect(bench.dialed).toHaveLength(1);
    expect(bench.asked).toHaveLength(2);
    expect((bench.dialed[0]?.at ?? 0) - (bench.asked[1]?.at ?? 0)).toBeLessThanOrEqual(5_000);
  });

  it("is asked once the dispatcher has taken the call", async () => {
    const bench = create();
    const [call] = await send(bench, 1);
    await bench.deliver(); // the message itself: no dispatcher has run
    expect(bench.asked).toEqual([]);
    expect((await rowOf(bench, call ?? { id: "" })).state).toBe("WAITING");
  });

  it("has orders and hours looked at again after its answer", async () => {
    const bench = create();
    const [call] = await send(bench, 1);
    bench.check = async () => {
      await neverCall(bench, call?.request.phone_number ?? "");
      await bench.sleep(2_900);
      bench.advance(3_000);
      return { decision: "call" };
    };
    await bench.simulate(30);
    expect(bench.asked).toHaveLength(1);
    expect(bench.dialed).toEqual([]);
    const { state, reason } = await rowOf(bench, call ?? { id: "" });
    expect({ state, reason }).toEqual({ state: "REJECTED", reason: "do_not_call" });
  });

  it("is not asked about a number that has been called as often as it may be", async () => {
    const bench = create({ plan: { ...plan, maxCalls: { count: 1, days: 1 } } });
    const phone_number = "+13035550001";
    const [first] = callsNow(bench, 1, { agent_id: "agent_support", phone_number });
    const [second] = callsNow(bench, 1, { agent_id: "agent_sales", phone_number });
    if (first === undefined || second === undefined) throw new Error("no call");
    await bench.send(message(first));
    await bench.simulate(10);
    await bench.send(message(second));
    await bench.simulate(60);
    expect(bench.dialed).toHaveLength(1);
    expect(bench.asked).toEqual([]);
    expect((await rowOf(bench, second)).reason).toBe("max_calls");
  });

  it.each([
    { beside: 12, lateMs: 0 },
    { beside: 0, lateMs: 5_000 },
  ])("that is slow is asked once about each call: $beside beside, $lateMs ms late", async (of) => {
    const slow = { ...crm, timeoutSeconds: 10 };
    const checks = { ...plan.checks, crm: slow };
    const bench = create({ plan: { ...plan, checks }, isNew: true });
    bench.check = async () => {
      await bench.sleep(9_000);
      return { decision: "call" };
    };
    await send(bench, 3);
    await send(bench, of.beside, "agent_support");
    const late = bench.now() + 4_000;
    const lateMs = () => (bench.now() < late ? of.lateMs : 0);
    await bench.simulate(60, { consumers: 10, lateMs });
    expect(bench.dialed).toHaveLength(3 + of.beside);
    expect(bench.asked).toHaveLength(3);
  });

  it.each<{ how: string; answer: CheckAnswer; askedMax: number }>([
    { how: "hangs", answer: { decision: "failed", code: "time_out" }, askedMax: 12 },
    { how: "is slow", answer: { decision: "call" }, askedMax: Infinity },
  ])(
    "that $how delays its own agents only, on one account",
    inSlowTier,
    async ({ answer, askedMax }) => {
      const slow = { ...crm, timeoutSeconds: 10 };
      const bench = create({ plan: { ...plan, checks: { ...plan.checks, crm: slow } } });
      bench.check = async ({ limitMs }) => {
        await bench.sleep(limitMs - 100);
        return answer;
      };
      bench.answer = async () => {
        await bench.sleep(200);
        return { kind: "placed" };
      };
      await send(bench, 400, "agent_sales");
      await bench.simulate(5, { consumers: 10 });
      const startedAt = bench.now();
      const waits: number[] = [];
      for (let round = 0; round < 12; round++) {
        const calls = await send(bench, 5, "agent_support", { client: "neighbour" });
        const sentAt = bench.now();
        await bench.simulate(10, { consumers: 10 });
        for (const { id } of calls) {
          const at = bench.dialed.find(({ call }) => call.id === id)?.at;
          waits.push(at === undefined ? Infinity : at - sentAt);
        }
      }
      await bench.simulate(15, { consumers: 10 });
      expect(bench.dialed.filter(({ call }) => call.client === "neighbour")).toHaveLength(60);
      const sorted = waits.toSorted((a, b) => a - b);
      expect(sorted[Math.floor(sorted.length * 0.95)]).toBeLessThan(5_000);
      // Five failures have opened the breaker, which then lets through a probe a minute.
      const late = bench.asked.filter(({ at }) => at > startedAt + 20_000);
      expect(late.length).toBeLessThan(askedMax);
    },
  );
});
