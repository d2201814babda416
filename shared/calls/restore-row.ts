import type { Route } from "./call-request.ts";
import type { CallRow } from "./call-row.ts";
import { mayHaveBeenDialed, type Restored } from "./lost-time.ts";
import { states } from "./states.ts";
import { applySettlement, type Decided, enterState, toUnknown, type Write } from "./transitions.ts";

/** The end of a call, as its controls decide it. */
type End = Exclude<Decided, { state: "WAITING" }>;

/**
 * Turns a row that may have been dialed in the lost time UNKNOWN, so that it is looked up in all of that time.
 *
 * @param route the route along which the call can be looked up. Undefined: the call waits for review
 * @param end the end of a call that cannot be looked up, where it was cancelled or erased. Undefined: it waits for review
 */
export function recoverRow(
  row: CallRow,
  { route, end, restore }: { route: Route | undefined; end?: End | undefined; restore: Restored },
  write: Write,
): CallRow | undefined {
  if (!mayHaveBeenDialed(row, restore)) return undefined;
  if (route === undefined) {
    return enterState(row, end ?? { state: "NEEDS_REVIEW", reason: "restored" }, write);
  }
  const to = { reason: "restored", dueAt: write.at };
  return {
    ...toUnknown({ ...row, unknownSince: write.at }, to, write),
    route,
    claims: [...row.claims, write.version],
    // The first lost claim had the next number.
    attempt: row.state === "WAITING" ? row.attempt + 1 : row.attempt,
    claimedAt: Math.min(row.claimedAt ?? restore.at, restore.at),
    lostUntil: restore.since,
    misses: 0,
  };
}

/** True if a restore has changed the row. */
export function isOfRestore({ history }: Pick<CallRow, "history">): boolean {
  return history.some((entry) => entry.reason === "restored");
}

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
