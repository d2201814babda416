import { claimAgeMsMax, clockStepMs } from "../lib/timing.ts";
import type { ClaimFacts, Verdict, Texts } from "./rule.ts";

export const held = { kind: "hold", reason: "claim_too_old" } as const;

/** The process was frozen or the ledger was slow: a sweep may be about to turn the claim UNKNOWN. */
export function stay(
  _call: unknown,
  { now, claimedAt, preliminaryMs }: Pick<ClaimFacts, "now" | "claimedAt" | "preliminaryMs">,
): Verdict | undefined {
  const age = now - claimedAt;
  if (age <= claimAgeMsMax + preliminaryMs && age >= -clockStepMs) return undefined;
  return held;
}

export const texts: Texts = {
  claim_too_old: {
    means: "Too much time passed between the claim and the request, so nothing was sent.",
  },
};
