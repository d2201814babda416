import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { type Bench, aCallNow, rowOf, sendEach } from "#test/support/dialer-calls.ts";
import {
  completed,
  createBench,
  live,
  minuteMs,
  place,
  pollAfter,
} from "#test/support/results-bench.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Creates a bench whose provider's records tell of opt-outs some time after the end. */
function createOptOutBench(): Bench {
  const bench = createBench();
  const { providerOf } = bench.deps.settings;
  bench.deps.settings = {
    ...bench.deps.settings,
    providerOf: (route) => ({ ...providerOf(route), recordsOptOuts: true }),
  };
  return bench;
}

async function placeOne(bench: Bench): Promise<CallRow> {
  const call = firstOf(await place(bench, 1));
  return rowOf(bench, call);
}

async function callBack(bench: Bench, { id, claims }: CallRow): Promise<void> {
  const call = { id, claim: claims.at(-1) ?? "" };
  await bench.eventsQueue.send({ kind: "callback", account: "twilio", call });
  await bench.deliverEvents();
}

async function stateOfNext(bench: Bench): Promise<string> {
  const later = aCallNow(bench, { phone_number: "+12025550100" });
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
