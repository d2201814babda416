import { describe, expect, it } from "vitest";
import { type Bench, boom, rowOf } from "#test/support/dialer-calls.ts";
import {
  completed,
  createBench,
  minuteMs,
  place,
  pollAfter,
  resultOf,
} from "#test/support/results-bench.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Creates a bench whose provider's records tell of an opt-out where `isOptOut` says so. */
async function createPlaced(count: number) {
  const bench = createBench();
  const [first, ...others] = await place(bench, count);
  if (first === undefined) throw new Error("nothing was placed");
  return { bench, first, others };
}

const resultsOf = async (bench: Bench, calls: readonly { id: string }[]) =>
  Promise.all(calls.map(async (call) => (await resultOf(bench, call))?.status));

describe("a row whose record cannot be handled", () => {
  it(
    "is put back with an alarm, and delays no other result of its account",
    inSlowTier,
    async () => {
      const { bench, first, others } = await createPlaced(3);
      const { append } = bench.deps.journal;
      bench.deps.journal.append = boom;
      bench.record = async ({ id }) => ({ ...completed, optedOut: id === first.id });
      await pollAfter(bench, 2);
      expect(await resultsOf(bench, others)).toEqual(["completed", "completed"]);
      const row = await rowOf(bench, first);
      expect(row.result).toBeNull();
      expect(Math.abs((row.dueAt ?? 0) - bench.now() - 5 * minuteMs)).toBeLessThan(5_000);
      expect(bench.eventsOf("result.not_handled")).toMatchObject([
        { level: "alarm", call_id: first.id, account: "twilio" },
      ]);
      // However long it takes, the record is not given up.
      await pollAfter(bench, 60 * 24 * 3);
      bench.deps.journal.append = append;
      await pollAfter(bench, 5);
      expect(await rowOf(bench, first)).toMatchObject({
        optedOut: true,
        result: { status: "completed" },
      });
    },
  );

  it("is found among others that are written together", inSlowTier, async () => {
    const { bench, first, others } = await createPlaced(9);
    bench.list = async () => new Map();
    bench.record = async () => completed;
    bench.breakLedger({
      async write(changes) {
        if (changes.some(({ next }) => next.id === first.id && next.result !== null)) {
          throw new Error("this row is too large");
        }
        return bench.rows.write(changes);
      },
    });
    await pollAfter(bench, 2);
    expect(new Set(await resultsOf(bench, others))).toEqual(new Set(["completed"]));
    expect(bench.eventsOf("result.not_handled")).toMatchObject([{ call_id: first.id }]);
  });

  it("of a list is found by halves", inSlowTier, async () => {
    const { bench, first, others } = await createPlaced(9);
    bench.list = async () => new Map([first, ...others].map(({ id }) => [`CA_${id}`, completed]));
    bench.breakLedger({
      async write(changes) {
        if (changes.some(({ next }) => next.id === first.id && next.result !== null)) {
          throw new Error("this row is too large");
        }
        return bench.rows.write(changes);
      },
    });
    await pollAfter(bench, 2);
    expect(new Set(await resultsOf(bench, others))).toEqual(new Set(["completed"]));
    expect(bench.eventsOf("result.not_handled")).toMatchObject([{ call_id: first.id }]);
  });

  it("stops the account's polls if the ledger is down", async () => {
    const { bench, first } = await createPlaced(3);
    bench.record = async () => completed;
    bench.advance(2 * minuteMs);
    await bench.sweep();
    bench.breakLedger({ write: boom });
    const answers = await bench.deliverEvents();
    bench.repairLedger();
    expect(bench.eventsOf("result.not_handled")).toHaveLength(1);
    expect(bench.eventsOf("events.failed")).toHaveLength(1);
    expect(answers).toEqual(["ack"]);
    expect(await resultOf(bench, first)).toBeNull();
  });
});
