import { describe, expect, it } from "vitest";
import { createDialerBench } from "#test/support/dialer.ts";
import { putWaiting, unknown } from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

describe("a host that never answers", () => {
  it(
    "gets five requests of a backlog until the first of them has ended, and few after it",
    inSlowTier,
    async () => {
      const bench = createDialerBench({
        startAt: "2026-06-01T10:00Z",
        concurrency: 25,
        isNew: true,
      });
      const begunAt = bench.now();
      bench.answer = async () => {
        await bench.sleep(30_000);
        return unknown;
      };
      await putWaiting(bench, 500, 0);
      await bench.simulate(29, { consumers: 10 });
      expect(bench.dialed).toHaveLength(5);
      await bench.simulate(91, { consumers: 10 });
      expect(bench.dialed.filter(({ at }) => at < begunAt + 36_000).length).toBeLessThanOrEqual(6);
      expect(bench.dialed.length).toBeLessThanOrEqual(8);
    },
  );
});
