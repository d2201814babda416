import { claimedAlong } from "#test/support/resolved.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFirstRow } from "#shared/calls/call-row.ts";
import { aCall } from "#test/support/calls.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { createLiveEntries, leaveLive } from "#functions/dialer/record/live-calls.ts";
import { sweepLiveCalls } from "#functions/dialer/sweep/sweep-live-calls.ts";
import {
  type Bench,
  callsNow,
  neverCall,
  putIn,
  rowOf,
  rowsIn,
  sendEach,
  stateOf,
} from "#test/support/dialer-calls.ts";
import { completed, createBench, live, minuteMs, route } from "#test/support/results-bench.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";
import { liveCallsIn, liveKeysOf } from "#shared/rules/live-calls.ts";

const account = "twilio";
const callMs = 2 * minuteMs;
const isFull: DialOutcome = { kind: "not_placed", code: "concurrency_limit", isFull: true };

/** Creates a bench whose provider has some lines: it refuses calls beyond them. */
function createLines(limit: number, settings: object, results: object = {}) {
  const bench = createBench(results, {
    providers: { twilio: { callsPerSecond: 100, ...settings } },
  });
  const endsAt = new Map<string, number>();
  let refused = 0;
  let most = 0;
  const countLive = () => [...endsAt.values()].filter((at) => at > bench.now()).length;
  bench.answer = async ({ id }) => {
    if (countLive() >= limit) {
      refused += 1;
      return isFull;
    }
    endsAt.set(`CA_${id}`, bench.now() + callMs);
    most = Math.max(most, countLive());
    return { kind: "placed", providerCallId: `CA_${id}` };
  };
  bench.record = async ({ providerCallId }) =>
    (endsAt.get(providerCallId) ?? 0) > bench.now() ? live : completed;
  return {
    bench,
    refused: () => refused,
    most: () => most,
    countLive,
    /** Lets time pass, and results be asked for. */
    async pass(seconds: number, step = 2) {
      for (let passed = 0; passed < seconds; passed += step) {
        await bench.simulate(step, { firstSweepSeconds: passed % 60 === 0 ? 0 : 1000 });
        await bench.deliverEvents();
      }
    },
  };
}

async function entriesOf(bench: Bench, limit: number): Promise<number> {
  const read = await bench.documents.read(liveKeysOf(account, limit));
  return liveCallsIn(read, { account, limit }).length;
}

async function idsLive(bench: Bench, limit: number): Promise<string[]> {
  const read = await bench.documents.read(liveKeysOf(account, limit));
  const entries = liveCallsIn(read, { account, limit });
  return entries.map(({ call }) => call).toSorted();
}

/** Returns a row as claims have it, as far as live calls look at it. */
function rowFor(id: string) {
  const call = aCall({ id });
  return createFirstRow({ call, numberHash: "", numberTail: "" });
}

describe("an account of five lines", () => {
  it("takes 100 calls of two minutes within 44 minutes, without one refusal, where the plan says so", async () => {
    const { bench, refused, most, pass } = createLines(5, { liveCalls: 5 });
    await sendEach(bench, ...callsNow(bench, 100));
    await pass(44 * 60);
    expect(bench.dialed).toHaveLength(100);
    expect(await rowsIn(bench, "PLACED")).toHaveLength(100);
    expect(refused()).toBe(0);
    expect(most()).toBe(5);
    expect(await entriesOf(bench, 5)).toBe(0);
  });

  it("takes them within 44 minutes where it refuses the sixth call", inSlowTier, async () => {
    const { bench, most, pass } = createLines(5, {});
    await sendEach(bench, ...callsNow(bench, 100));
    await pass(44 * 60);
    expect(await rowsIn(bench, "PLACED")).toHaveLength(100);
    expect(most()).toBe(5);
  });
});

describe("live calls", () => {
  it("are entered before the request, and left by one that surely was not placed", async () => {
    const { bench } = createLines(5, { liveCalls: 1 });
    const seen: number[] = [];
    bench.answer = async () => {
      seen.push(await entriesOf(bench, 1));
      return { kind: "rejected", code: "invalid_number", blamesNumber: true };
    };
    await sendEach(bench, ...callsNow(bench, 3));
    await bench.simulate(30);
    expect(seen).toEqual([1, 1, 1]);
    expect(await entriesOf(bench, 1)).toBe(0);
  });

  it("are left where a check forbids the request", async () => {
    const { bench } = createLines(5, { liveCalls: 1 });
    const call = firstOf(callsNow(bench, 1));
    let checks = 0;
    bench.breakDocuments({
      async write(changes) {
        // The number is put on the do-not-call list just as the call is entered.
        if (changes.some(({ next }) => next.kind === "live-calls") && checks++ === 0) {
          await neverCall(bench, call.request.phone_number);
          bench.advance(6_000);
        }
        return bench.documents.write(changes);
      },
    });
    await sendEach(bench, call);
    await bench.simulate(30);
    expect(bench.dialed).toHaveLength(0);
    expect(checks).toBeGreaterThan(0);
    expect(await entriesOf(bench, 1)).toBe(0);
  });

  it("leave as soon as their result is known, and their duration counts for the mean", async () => {
    const { bench, pass } = createLines(5, { liveCalls: 1 });
    await sendEach(bench, ...callsNow(bench, 1));
    await pass(4);
    expect(await entriesOf(bench, 1)).toBe(1);
    bench.advance(callMs);
    await bench.sweep();
    await bench.deliverEvents();
    expect(await entriesOf(bench, 1)).toBe(0);
    const key = firstOf(liveKeysOf(account, 1));
    const { meanMs } = (await bench.documents.read([key])).get(key.kind, key.key)?.value ?? {};
    expect(Math.round((meanMs ?? 0) / 10_000)).toBe(12);
  });

  it("of one delivery are entered in one write", async () => {
    const { bench } = createLines(25, { liveCalls: 20 });
    const writes: number[] = [];
    bench.breakDocuments({
      async write(changes) {
        writes.push(changes.filter(({ next }) => next.kind === "live-calls").length);
        return bench.documents.write(changes);
      },
    });
    const entries = createLiveEntries(bench.deps);
    const entered = await Promise.all(
      callsNow(bench, 25).map(({ id }) =>
        entries.enter(
          claimedAlong(
            route,
            { row: { ...rowFor(id), claimedAt: bench.now() }, version: id },
            bench.deps.settings,
          ),
        ),
      ),
    );
    expect(entered.filter(Boolean)).toHaveLength(20);
    expect(writes).toEqual([1]);
  });

  it("that a dead process left behind are removed by a sweep, others are not", async () => {
    const { bench } = createLines(5, { liveCalls: 5 });
    const calls = callsNow(bench, 4);
    const [gone, waiting, dialing, young] = calls;
    if (!gone || !waiting || !dialing || !young) throw new Error("there are four");
    await putIn(bench, "WAITING", waiting);
    await putIn(bench, "DIALING", dialing);
    const enter = ({ id }: { id: string }) =>
      createLiveEntries(bench.deps).enter(
        claimedAlong(
          route,
          { row: { ...rowFor(id), claimedAt: bench.now() }, version: "v" },
          bench.deps.settings,
        ),
      );
    expect(await Promise.all([enter(gone), enter(waiting), enter(dialing)])).toEqual([
      true,
      true,
      true,
    ]);
    bench.advance(2 * minuteMs);
    expect(await enter(young)).toBe(true);
    await sweepLiveCalls({ epoch: 1 }, { isOver: () => false }, bench.deps);
    expect(await idsLive(bench, 5)).toEqual([dialing.id, young.id].toSorted());
  });

  it("of unknown end count until their longest duration is over, and no longer", async () => {
    const { bench, pass } = createLines(5, { liveCalls: 1, maxCallMinutes: 10 });
    bench.answer = async () => ({ kind: "unknown", code: "time_out" });
    const [first, second] = callsNow(bench, 2);
    if (first === undefined || second === undefined) throw new Error("there are two");
    await sendEach(bench, first);
    await pass(4);
    await sendEach(bench, second);
    await pass(11 * 60);
    expect(bench.dialed).toHaveLength(1);
    expect(await rowOf(bench, second)).toMatchObject({ state: "WAITING", reason: "live_calls" });
    await pass(2 * 60);
    expect(bench.dialed).toHaveLength(2);
  });

  it("make the calls of another account wait for nothing", async () => {
    const bench = createBench(
      {},
      {
        agents: {
          agent_sales: {
            provider: "twilio",
            from: "+12025550100",
            answerUrl: "https://x.example/",
          },
          other: { provider: "webhook", url: "https://other.example/dial" },
        },
        providers: { twilio: { liveCalls: 1, callsPerSecond: 100 } },
      },
    );
    bench.record = async () => live;
    await sendEach(bench, ...callsNow(bench, 50));
    await bench.simulate(20);
    expect(bench.dialed).toHaveLength(1);
    const call = firstOf(callsNow(bench, 1, { agent_id: "other" }));
    await sendEach(bench, call);
    await bench.simulate(4);
    expect(await stateOf(bench, call)).toBe("PLACED");
  });

  it("leak nothing in a month in which results are lost", inSlowTier, async () => {
    const { bench, most, pass } = createLines(
      4,
      { liveCalls: 3, maxCallMinutes: 10 },
      { waitMinutes: 30 },
    );
    const { record } = bench;
    let asked = 0;
    // Every third call has no record, as where a callback is lost and the provider keeps none.
    bench.record = async (placed, of) => {
      asked += 1;
      return Number(placed.providerCallId.slice(-1)) % 3 === 0 ? undefined : record(placed, of);
    };
    for (let day = 0; day < 30; day += 3) {
      await sendEach(bench, ...callsNow(bench, 9));
      await pass(50 * 60, 20);
      bench.advance(71 * 60 * minuteMs);
    }
    expect(asked).toBeGreaterThan(0);
    expect(await rowsIn(bench, "PLACED")).toHaveLength(10 * 9);
    expect(most()).toBe(3);
    expect(await entriesOf(bench, 3)).toBe(0);
  });

  it("are never more than the account may have, whoever enters and leaves at the same time", async () => {
    const step = fc.record({ call: fc.nat({ max: 40 }), leaves: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 12 }), { maxLength: 8 }),
        fc.integer({ min: 1, max: 30 }),
        async (rounds, limit) => {
          const { bench } = createLines(5, { liveCalls: limit });
          const entered = new Set<string>();
          const shared = createLiveEntries(bench.deps);
          for (const steps of rounds) {
            // All of a round meet each other's conflicts.
            await Promise.all(
              steps.map(async ({ call, leaves }) => {
                const id = `call_${call}`;
                if (leaves) {
                  entered.delete(id);
                  return leaveLive([{ id, route, isMeasured: true }], bench.deps);
                }
                const row = { ...rowFor(id), claimedAt: bench.now() };
                // Some share a delivery, others are in one of their own.
                const delivery = call % 2 === 0 ? shared : createLiveEntries(bench.deps);
                if (
                  await delivery.enter(
                    claimedAlong(route, { row, version: id }, bench.deps.settings),
                  )
                )
                  entered.add(id);
                return undefined;
              }),
            );
            const ids = await idsLive(bench, limit);
            expect(ids.length).toBeLessThanOrEqual(limit);
            expect(new Set(ids).size).toBe(ids.length);
            bench.advance(1_000);
          }
        },
      ),
      { numRuns: perTier({ quick: 6, long: 20 }) },
    );
  });
});
