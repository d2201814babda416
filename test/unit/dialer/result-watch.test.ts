import { toAccountName } from "#shared/calls/ids.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallResult } from "#shared/calls/call-result.ts";
import {
  addResults,
  afterPause,
  callerIdOf,
  type EndedRow,
  findPauseCause,
} from "#shared/policy/result-watch.ts";
import { type Bench, callsNow, documentOf, rowsIn, sendEach } from "#test/support/dialer-calls.ts";
import { createBench, minuteMs, nothing } from "#test/support/results-bench.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";

const agent = "agent_sales";
const result = (status: CallResult["status"], seconds: number | null = null): CallResult => ({
  ...nothing,
  status,
  word: status,
  seconds,
});
const pauseOf = async (bench: Bench) => {
  const { kind, key } = pauseKeyOf({ agent });
  return (await documentOf(bench, kind, key))?.value;
};

/** Places calls that end by these results, and has the results read. */
async function endCalls(bench: Bench, ...results: CallResult[]): Promise<void> {
  const before = bench.dialed.length;
  await sendEach(bench, ...callsNow(bench, results.length));
  await bench.simulate(results.length + 5, { firstSweepSeconds: 1000 });
  const byId = new Map(
    bench.dialed.slice(before).map(({ call }, index) => [`CA_${call.id}`, results[index]]),
  );
  bench.record = async ({ providerCallId }) => byId.get(providerCallId);
  bench.list = async () =>
    new Map([...byId].flatMap(([id, one]) => (one === undefined ? [] : [[id, one]])));
  bench.advance(2 * minuteMs);
  await bench.sweep();
  await bench.deliverEvents();
}
const some = (count: number, one: CallResult) => Array.from({ length: count }, () => one);
const create = (results: object = { pauseAgents: true }) =>
  createBench(results, { providers: { twilio: { callsPerSecond: 100 } } });

describe("an agent whose answered calls end at once", () => {
  it(
    "is paused by the system, with an alarm, at the twentieth of thirty, and dialed again once an operator resumes it",
    inSlowTier,
    async () => {
      const bench = create();
      await endCalls(
        bench,
        ...some(10, result("completed", 40)),
        ...some(19, result("completed", 2)),
      );
      expect(await pauseOf(bench)).toBeUndefined();
      await endCalls(bench, result("voicemail", 1), result("no_answer"), result("completed", 3));
      expect(await pauseOf(bench)).toMatchObject({ of: { agent }, by: "system" });
      const alarms = bench.events.filter(({ level, event }) => level === "alarm" && event !== "x");
      expect(alarms).toEqual([
        { level: "alarm", event: "agent.paused", agent_id: agent, reason: "short_calls" },
      ]);
      const dialed = bench.dialed.length;
      await sendEach(bench, ...callsNow(bench, 2));
      await bench.simulate(120);
      expect(bench.dialed).toHaveLength(dialed);
      expect((await rowsIn(bench, "WAITING")).map(({ reason }) => reason)).toEqual([
        "paused",
        "paused",
      ]);
      const { kind, key } = pauseKeyOf({ agent });
      const stored = await documentOf(bench, kind, key);
      await bench.documents.remove([{ kind, key, seen: stored?.version ?? "" }]);
      await bench.simulate(120);
      expect(bench.dialed).toHaveLength(dialed + 2);
      await endCalls(bench, ...some(19, result("completed", 2)));
      expect(await pauseOf(bench)).toBeUndefined();
    },
  );

  it("is left alone where the plan does not say so, and nothing is stored of it", async () => {
    const bench = create({});
    await endCalls(bench, ...some(30, result("completed", 1)));
    expect(await pauseOf(bench)).toBeUndefined();
    expect(await documentOf(bench, "agent-results", agent)).toBeUndefined();
  });

  /** Has an operator pause the agent before the result that demands a pause. */
  async function pausedBefore(until?: number) {
    const bench = create();
    await endCalls(bench, ...some(19, result("completed", 1)));
    const value = { of: { agent }, at: 1, by: "desk", until: until && bench.now() + until };
    const expiresAt = value.until ?? null;
    const next = { ...pauseKeyOf({ agent }), version: "v", value, expiresAt };
    await sendEach(bench, ...callsNow(bench, 1));
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    await bench.documents.write([{ next, seen: null }]);
    bench.record = async () => result("completed", 1);
    bench.advance(2 * minuteMs);
    await bench.sweep();
    await bench.deliverEvents();
    return bench;
  }

  it("keeps an operator's pause as it is", async () => {
    const bench = await pausedBefore();
    expect(await pauseOf(bench)).toEqual({ of: { agent }, at: 1, by: "desk" });
    expect(bench.events.filter(({ event }) => event === "agent.paused")).toEqual([]);
  });

  it("stays paused after the end of an operator's pause, with an alarm", async () => {
    const bench = await pausedBefore(60 * minuteMs);
    bench.advance(60 * minuteMs);
    expect(await pauseOf(bench)).toMatchObject({ of: { agent }, by: "system" });
    expect(bench.events.filter(({ event }) => event === "agent.paused")).toHaveLength(1);
  });

  it("has its results recorded though they cannot be counted", async () => {
    const bench = create();
    bench.breakDocuments({
      write: (changes) =>
        changes.some(({ next }) => next.kind === "agent-results")
          ? Promise.reject(new Error("down"))
          : bench.documents.write(changes),
    });
    await endCalls(bench, ...some(2, result("completed", 1)));
    const rows = await rowsIn(bench, "PLACED");
    expect(rows.map((row) => row.result?.status)).toEqual(["completed", "completed"]);
    expect(bench.events).toContainEqual(expect.objectContaining({ event: "results.not_watched" }));
  });
});

describe("an agent whose calls are blocked", () => {
  it("is paused at the tenth in a row", inSlowTier, async () => {
    const bench = create();
    await endCalls(
      bench,
      ...some(9, result("blocked")),
      result("busy"),
      ...some(9, result("blocked")),
    );
    expect(await pauseOf(bench)).toBeUndefined();
    await endCalls(bench, result("failed"), result("invalid"), result("blocked"));
    expect(await pauseOf(bench)).toMatchObject({ by: "system" });
    expect(bench.events).toContainEqual(
      expect.objectContaining({ event: "agent.paused", reason: "blocked" }),
    );
  });
});

describe("results of an agent", () => {
  const from = (number: string) => ({
    provider: "twilio" as const,
    account: toAccountName("twilio"),
    from: number,
  });
  const blocked: fc.Arbitrary<EndedRow> = fc.record({
    agentId: fc.constant(agent),
    claimedAt: fc.constant(100),
    route: fc.constantFrom(from("+12025550100"), null),
    result: fc.constantFrom(result("blocked"), result("blocked"), result("failed")),
  });
  const ended: fc.Arbitrary<EndedRow> = fc.record({
    agentId: fc.constant(agent),
    claimedAt: fc.integer({ min: 1, max: 100 }),
    route: fc.constantFrom(from("+12025550100"), from("+12025550101"), null),
    result: fc.constantFrom(
      ...[0, 1, 2, 3, 3, 3.1, 60, null].map((seconds) => result("completed", seconds)),
      { ...result("completed"), answeredAt: 1_000, endedAt: 4_000 },
      { ...result("completed"), answeredAt: 1_000, endedAt: 4_001 },
      result("voicemail", 1),
      ...(["blocked", "blocked", "failed", "busy"] as const).map((one) => result(one)),
    ),
  });

  it("lead to no pause by short calls before the latest thirty, nor by machines that answered", () => {
    const after = (...results: CallResult[]) =>
      findPauseCause(
        addResults(
          undefined,
          results.map((one) => ({ agentId: agent, claimedAt: 1, route: null, result: one })),
        ),
      );
    const [short, long] = [result("completed", 3), result("completed", 4)];
    expect(after(...some(10, short), ...some(20, long), ...some(10, short))).toBeUndefined();
    expect(after(...some(10, short), ...some(10, long), ...some(10, short))).toBe("short_calls");
    expect(after(...some(19, short), ...some(30, result("voicemail", 1)))).toBeUndefined();
  });

  it("lead to a pause exactly by the rules, however they are batched", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.array(ended, { maxLength: 12 }), fc.array(blocked, { maxLength: 12 })),
          {
            maxLength: 12,
          },
        ),
        fc.integer({ min: 0, max: 60 }),
        (batches, since) => {
          let known = afterPause(addResults(undefined, []), since);
          for (const batch of batches) known = addResults(known, batch);
          const all = batches.flat().filter(({ claimedAt }) => (claimedAt ?? 0) > since);
          const lasted = all.flatMap(({ result: one }) => {
            if (one?.status !== "completed") return [];
            return one.seconds ?? (one.endedAt === null ? [] : (one.endedAt - 1_000) / 1000);
          });
          const isShort = lasted.slice(-30).filter((seconds) => seconds <= 3).length >= 20;
          const isBlocked = ["+12025550100", "+12025550101", ""].some((number) => {
            const own = all.filter(({ route }) => callerIdOf({ route }) === number);
            const told = own.flatMap(({ result: one }) =>
              one?.status === "failed" ? [] : one?.status,
            );
            return told.length >= 10 && told.slice(-10).every((status) => status === "blocked");
          });
          expect(findPauseCause(known)).toBe(
            isShort ? "short_calls" : isBlocked ? "blocked" : undefined,
          );
        },
      ),
      { numRuns: perTier({ quick: 10, long: 100 }) },
    );
  });
});
