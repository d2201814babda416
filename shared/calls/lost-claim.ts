import type { Route } from "./call-request.ts";
import type { CallRow } from "./call-row.ts";
import { states } from "./states.ts";
import { applySettlement, type Write } from "./transitions.ts";

/** A claim that a restore lost, as a signed callback names it. */
export interface LostClaim {
  claim: string;
  /** Route of the callback's account. */
  route: Route;
  /** Number of the claim among the call's. */
  attempt: number;
  /** First poll for the result. Undefined: the callback brings it. */
  pollAt: number | undefined;
}

/**
 * Applies a signed proof that a lost claim placed the call: the row becomes PLACED under that claim. A call that is being
 * dialed, or was placed under a claim that is newer than the restore, stays as it is.
 */
export function proveLostClaim(
  row: CallRow,
  { claim, route, attempt, pollAt }: LostClaim,
  { version, at }: Write,
): CallRow | undefined {
  if (states[row.state].placed === "now" || hasNewerClaim(row)) return undefined;
  const known = {
    ...row,
    claims: [...row.claims, claim],
    attempt: Math.max(row.attempt, attempt),
    route: row.route?.account === route.account ? row.route : route,
    claimedAt: row.claimedAt ?? at,
  };
  if (row.state === "PLACED") return { ...known, version };
  const placed = { id: row.id, claim, state: "PLACED", reason: "found", at } as const;
  return applySettlement(known, pollAt === undefined ? placed : { ...placed, pollAt }, version);
}

/** True if a call was placed under a claim of its own: not by an operator's word, nor found after a restore. */
function hasNewerClaim({ state, claims, lostUntil }: CallRow): boolean {
  return state === "PLACED" && lostUntil === null && claims.length > 0;
}
