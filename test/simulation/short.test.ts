import { describe, expect, it } from "vitest";
import { measureRates, missesOf } from "./rates.ts";
import { runSeeds, textOf } from "./seeds.ts";
import { simulateTrouble } from "./trouble.ts";
import { perTier, inSlowTier } from "../support/per-tier.ts";

// Every change is tried with a few seeds; test/simulation/long holds what takes longer.
describe("a short simulation", () => {
  it("keeps every promise, whatever goes wrong", async () => {
    const seeds = perTier({ quick: 3, slow: 15 });
    const { totals, failure } = await runSeeds(1021, seeds, { isShrunk: true });
    if (failure !== undefined) expect.fail(textOf(failure));
    // A run without faults would prove nothing.
    for (const count of Object.values(totals))
      expect(count).toBeGreaterThan(perTier({ quick: 0, slow: 10 }));
  });

  it("keeps one caller's trouble from another's calls", inSlowTier, async () => {
    expect(await simulateTrouble(1001)).toEqual([]);
  });

  it("meets an account's pace and never exceeds it", async () => {
    const rates = await measureRates({ callsPerSecond: 20, ledgerMs: 100, calls: 1000 });
    expect(missesOf(rates)).toEqual([]);
  });
});
