import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { type Bench, aCallNow, rowOf, sendEach } from "#test/support/dialer-calls.ts";
import { analysesLane } from "#shared/calls/lane.ts";
import type { ReadResult } from "#shared/providers/provider.ts";
import {
  busy,
  completed,
  createBench as createResultsBench,
  live,
  minuteMs,
  place,
  pollAfter,
} from "#test/support/results-bench.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Creates a bench whose provider's records tell of opt-outs some time after the end. */
function createOptOutBench(): Bench {
  const bench = createResultsBench();
  const { providerOf } = bench.deps.settings;
  bench.deps.settings = {
    ...bench.deps.settings,
    providerOf: (route) => ({ ...providerOf(route), recordsOptOuts: true }),
  };
  return bench;
}

/** The record of a call that has ended and is not analyzed yet. */
const pending: ReadResult = { ...completed, analysis: { isAnalyzed: false } };

async function placeOne(bench: Bench): Promise<CallRow> {
  const call = firstOf(await place(bench, 1));
  return rowOf(bench, call);
}

async function callBack(bench: Bench, { id, claims }: CallRow): Promise<void> {
  const call = { id, claim: claims.at(-1) ?? "" };
  await bench.eventsQueue.send({ kind: "callback", account: "twilio", call });
  await bench.deliverEvents();
}

/** Has a later call to the number of the bench's first call handled, and returns its state. */
async function stateOfNext(bench: Bench): Promise<string> {
  const later = aCallNow(bench, { phone_number: firstOf(bench.dialed).call.request.phone_number });
  await sendEach(bench, later);
  await bench.simulate(10, { firstSweepSeconds: 1000 });
  return (await rowOf(bench, later)).state;
}

describe("a record by which the callee asked not to be called again", () => {
  it("puts the number onto the list, though the end was known before", async () => {
    const bench = createOptOutBench();
    const row = await placeOne(bench);
    bench.record = async () => completed;
    await callBack(bench, row);
    bench.record = async () => ({ ...completed, optedOut: true });
    bench.advance(1_000);
    await callBack(bench, row);
    const after = await rowOf(bench, row);
    expect(after).toMatchObject({ optedOut: true, result: { status: "completed" } });
    expect(bench.eventsOf("call.opted_out")).toHaveLength(1);
    bench.record = () => Promise.reject(new Error("the record is not needed any more"));
    await callBack(bench, row);
  });

  it("puts the numbers of a list of records onto the list too", inSlowTier, async () => {
    const bench = createOptOutBench();
    const calls = await place(bench, 6);
    const records = new Map(
      calls.map(({ id }, n) => [
        `CA_${id}`,
        n === 0 ? { ...completed, optedOut: true } : completed,
      ]),
    );
    bench.list = async () => records;
    bench.record = async ({ providerCallId }) => records.get(providerCallId) ?? live;
    await pollAfter(bench, 20);
    const rows = await Promise.all(calls.map((call) => rowOf(bench, call)));
    expect(rows.map(({ optedOut }) => optedOut)).toEqual([true, ...Array(5).fill(false)]);
    expect(rows.every(({ result }) => result?.status === "completed")).toBe(true);
  });

  it("is read after the end was, by a sweep at the latest, and the number is erased at the end", async () => {
    const bench = createOptOutBench();
    const row = await placeOne(bench);
    bench.record = async () => pending;
    await pollAfter(bench, 2);
    const lane = analysesLane({ account: "twilio" });
    expect(await rowOf(bench, row)).toMatchObject({ result: completed, request: null, lane });
    bench.record = async () => ({ ...pending, optedOut: true, analysis: { isAnalyzed: true } });
    await pollAfter(bench, 1);
    const after = await rowOf(bench, row);
    expect(after).toMatchObject({ optedOut: true, lane: null, dueAt: null });
    expect(bench.eventsOf("call.result")).toHaveLength(1);
    expect(await stateOfNext(bench)).toBe("REJECTED");
  });

  it("is read though the provider failed all deliveries of the callback after its analysis", async () => {
    const bench = createOptOutBench();
    const row = await placeOne(bench);
    bench.record = async () => pending;
    await callBack(bench, row);
    bench.record = () => Promise.reject(new Error("503"));
    await callBack(bench, row);
    for (let deliveries = 1; deliveries < 3; deliveries++) {
      bench.advance(30_000);
      await bench.deliverEvents();
    }
    bench.record = async () => ({ ...completed, optedOut: true });
    await pollAfter(bench, 5);
    expect(await rowOf(bench, row)).toMatchObject({ optedOut: true });
  });

  it("is awaited for three quarters of an hour", async () => {
    const bench = createOptOutBench();
    const row = await placeOne(bench);
    let [asked, minutes] = [0, 0];
    bench.record = async () => (asked++, pending);
    do await pollAfter(bench, 1);
    while ((await rowOf(bench, row)).dueAt !== null && minutes++ < 100);
    expect({ asked, minutes }).toEqual({ asked: 7, minutes: 46 });
  });

  it.each([
    ["nobody spoke", createOptOutBench, { ...busy, analysis: pending.analysis }],
    ["the provider records none", createResultsBench, pending],
  ])("is not awaited where %s", async (_, create, record) => {
    const bench = create();
    const row = await placeOne(bench);
    bench.record = async () => record;
    await pollAfter(bench, 2);
    expect(await rowOf(bench, row)).toMatchObject({ result: {}, lane: null, dueAt: null });
  });

  it("is not sought an hour after the end", async () => {
    const bench = createOptOutBench();
    const row = await placeOne(bench);
    bench.record = async () => completed;
    await callBack(bench, row);
    bench.advance(60 * minuteMs);
    bench.record = async () => ({ ...completed, optedOut: true });
    await callBack(bench, row);
    expect(await rowOf(bench, row)).toMatchObject({ optedOut: false });
    expect(await stateOfNext(bench)).toBe("PLACED");
  });
});
