import { describe, expect, it } from "vitest";
import { measureRates, missesOf } from "../rates.ts";

describe("an account's pace, kept by functions that share nothing but the ledger", () => {
  // `npm run rates` measures 10,000 calls of every case.
  it.each([
    { callsPerSecond: 1, ledgerMs: 700, calls: 400 },
    { callsPerSecond: 20, ledgerMs: 100, calls: 3000 },
    { callsPerSecond: 20, ledgerMs: 700, calls: 3000 },
    { callsPerSecond: 100, ledgerMs: 5, calls: 5000 },
    { callsPerSecond: 100, ledgerMs: 700, calls: 10_000 },
  ])(
    "is met and never exceeded, at $callsPerSecond a second with a ledger that takes $ledgerMs ms",
    async (of) => {
      expect(missesOf(await measureRates(of))).toEqual([]);
    },
  );
});
