import { describe, expect, it } from "vitest";
import { measureRates, missesOf } from "./rates.ts";
import { runSeeds, textOf } from "./seeds.ts";

// Every change is tried with a few seeds; test/simulation/long holds what takes longer.
describe("a short simulation", () => {
  it("keeps every promise, whatever goes wrong", async () => {
    const { totals, failure } = await runSeeds(64, 2, { isShrunk: true });
    if (failure !== undefined) expect.fail(textOf(failure));
    // A run without faults would prove nothing.
    for (const count of Object.values(totals)) expect(count).toBeGreaterThan(0);
  });

  it("meets an account's pace and never exceeds it", async () => {
    const rates = await measureRates({ callsPerSecond: 20, ledgerMs: 100, calls: 400 });
    expect(missesOf(rates)).toEqual([]);
  });
});
