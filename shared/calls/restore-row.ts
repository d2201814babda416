import type { Route } from "./call-request.ts";
import type { CallRow } from "./call-row.ts";
import { lostReason, mayHaveBeenDialed, type Restored } from "./lost-time.ts";
import { type Decided, enterState, toUnknown, type Write } from "./transitions.ts";

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
    return enterState(row, end ?? { state: "NEEDS_REVIEW", reason: lostReason }, write);
  }
  const to = { reason: lostReason, dueAt: write.at };
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
