import { claimAgeMsMax } from "../calls/transitions.ts";
import type { ClaimFacts, Verdict } from "./rule.ts";

/** Maximum tolerated backward step of the clock. After a larger one, a claim's age is unknown. */
const clockStepMs = 1_000;

/** The process stood still or the ledger was slow: a sweep may be about to turn the claim UNKNOWN. */
export function stay(
  _call: unknown,
  { now, claimedAt, laterMs }: Pick<ClaimFacts, "now" | "claimedAt" | "laterMs">,
): Verdict | undefined {
  const age = now - claimedAt;
  if (age <= claimAgeMsMax + laterMs && age >= -clockStepMs) return undefined;
  return { kind: "hold", reason: "claim_too_old" };
}
