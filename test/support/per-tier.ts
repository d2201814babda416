import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** `.config/vitest.config.ts` and `.config/vitest.slow.config.ts` each provide their own. */
    tier: "quick" | "slow";
  }
}

const isSlow = inject("tier") === "slow";
const isLong = process.env["LONG"] === "1";

/**
 * Returns the size of a test for the tier that runs: a number of runs, rows or seeds. The quick tier finds what breaks at
 * once. The slow tier repeats with more each test file that reaches this function by its imports: with a quarter of the
 * long tier's size, which `npm run test:sizes` runs.
 */
export function perTier({ quick, long }: { quick: number; long: number }): number {
  if (!isSlow) return quick;
  return isLong ? long : Math.max(quick, Math.ceil(long / 4));
}

/** Options of a test that takes long: `it("…", inSlowTier, async () => …)`. The slow tier alone runs it. */
export const inSlowTier = { skip: !isSlow };
