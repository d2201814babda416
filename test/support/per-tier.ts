import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** `.config/vitest.config.ts` and `.config/vitest.slow.config.ts` each provide their own. */
    tier: "quick" | "slow";
  }
}

const isSlow = inject("tier") === "slow";

/**
 * Returns the size of a test for the tier that runs: a number of runs, rows or seeds. The quick tier finds what breaks at
 * once, and the slow tier repeats with more each test file that reaches this function by its imports.
 */
export function perTier(sizes: { quick: number; slow: number }): number {
  return isSlow ? sizes.slow : sizes.quick;
}

/** Options of a test that takes long: `it("…", inSlowTier, async () => …)`. The slow tier alone runs it. */
export const inSlowTier = { skip: !isSlow };
