import { describe, expect, it } from "vitest";
import { createDialerBench } from "#test/support/dialer.ts";
import { boom } from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const bytesMax = 10_000_000_000;
const hour = 3_600_000;

/** Creates a bench whose ledger has a size, and lets hours pass with a sweep in each minute that matters. */
function createSizedBench(percent: number) {
  const bench = createDialerBench({ startAt: "2026-06-01T10:00Z" });
  const size = { bytes: (bytesMax / 100) * percent, asked: 0 };
  bench.deps.ledgerSize = async () => {
    size.asked += 1;
    return { bytes: size.bytes, bytesMax };
  };
  return {
    bench,
    size,
    alarms: () => bench.eventsOf("ledger.filling"),
    async pass(hours: number, percentPerHour = 0) {
      for (let n = 0; n < hours; n++) {
        await bench.sweep();
        bench.advance(hour);
        size.bytes += (bytesMax / 100) * percentPerHour;
      }
    },
  };
}

/** The ways on, of which the alarm names each. */
const problem = expect.stringMatching(/retentionDays.*second service for other accounts.*AWS/);

describe("a ledger that may not grow without end", () => {
  it("is measured once an hour", inSlowTier, async () => {
    const { bench, size } = createSizedBench(1);
    for (let minute = 0; minute < 120; minute++) {
      await bench.sweep();
      bench.advance(hour / 60);
    }
    expect(size.asked).toBe(2);
  });

  it("raises no alarm below seven tenths, however fast it grows", async () => {
    const { alarms, pass } = createSizedBench(0);
    await pass(70, 1);
    expect(alarms()).toEqual([]);
  });

  it(
    "raises one a day from seven tenths on, with the day on which it is full at today's growth",
    inSlowTier,
    async () => {
      const { alarms, pass } = createSizedBench(60);
      await pass(25 * 4, 0.2); // 60 to 80 percent
      const [first, ...others] = alarms();
      // Within the last day, 4.8 percent: the 30 that are left take 150 hours.
      expect(first).toEqual({
        level: "alarm",
        event: "ledger.filling",
        percent: 70,
        full_at: "2026-06-09T18:00:00.000Z",
        problem,
      });
      expect(others).toHaveLength(2);
    },
  );

  it("raises one an hour from nine tenths on", async () => {
    const { alarms, pass } = createSizedBench(91);
    await pass(5);
    expect(alarms()).toHaveLength(5);
  });

  it("names no day while it does not grow, as after a purge", async () => {
    const { alarms, pass } = createSizedBench(75);
    await pass(25);
    expect(alarms()).toEqual([
      { level: "alarm", event: "ledger.filling", percent: 75, problem },
      { level: "alarm", event: "ledger.filling", percent: 75, problem },
    ]);
  });

  it("lets the sweep continue if its size cannot be read", async () => {
    const { bench, pass } = createSizedBench(95);
    bench.deps.ledgerSize = boom;
    await pass(1);
    expect(bench.eventsOf("sweep.failed")).toHaveLength(1);
    expect(bench.eventsOf("sweep.completed")).toHaveLength(1);
  });
});
