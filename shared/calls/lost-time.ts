import type { Call } from "./call-request.ts";
import type { CallRow } from "./call-row.ts";
import { timeOfId } from "./ids.ts";
import { states } from "./states.ts";
import { clocksMarginMs } from "../lib/timing.ts";

/** Facts of a restore that decide about a row. Times are milliseconds since the epoch. */
export interface Restored {
  /** Time to which the ledger was restored. */
  at: number;
  /** Time at which dialing was suspended. A call that was due or accepted well after it was not dialed. */
  since: number;
}

/** Reason of a row that may have been dialed in the lost time. */
export const lostReason = "restored";

/** Sequence of the first event after a restore, so that no new event gets the id of a lost one. */
const sequenceAfterLost = 101;

/** Returns the least sequence of a new event of a row. */
export function leastSequenceOf({ history }: Pick<CallRow, "history">): number {
  return history.some(({ reason }) => reason === lostReason) ? sequenceAfterLost : 1;
}

/**
 * True if a call that has no row may have been dialed before the ledger was restored. A late repeat of its request renews
 * the time of acceptance, but not the time in its id.
 */
export function mayHaveHadRow(
  { id, acceptedAt }: Pick<Call, "id" | "acceptedAt">,
  since: number,
): boolean {
  return Math.min(acceptedAt, timeOfId(id)) <= since + clocksMarginMs;
}

/** True if a row of a restored ledger may have been dialed in the time that was lost. */
export function mayHaveBeenDialed(row: CallRow, { at, since }: Restored): boolean {
  if (!mayHaveHadRow(row, since) || (row.lostUntil !== null && row.lostUntil >= since))
    return false;
  const { open, placed } = states[row.state];
  if (!open) return false;
  if (placed !== "no") return true;
  // A row that is newer than the backup may repeat a lost row, whenever it is due: a frozen function has written it.
  const isNew = (row.history[0]?.at ?? row.updatedAt) > at;
  // Due times never move to an earlier time, so a row that is due later was not due before. A try is the exception:
  // its callee's wish to be called back may have moved it in the lost time.
  const isDue = (row.dueAt ?? 0) <= since + clocksMarginMs;
  return isNew || isDue || mayHaveMoved(row, at) || mayHaveRung(row, since);
}

/**
 * True if a lost callback may have proved that a phone rang: under a claim whose own answer said that it placed nothing, or
 * by the call that a redial replaces.
 */
function mayHaveRung(
  { released = [], claimedAt, ancestors, tries }: CallRow,
  since: number,
): boolean {
  if (ancestors.length > 0 && tries === undefined) return true;
  return released.length > 0 && claimedAt !== null && claimedAt <= since + clocksMarginMs;
}

/**
 * True if a wish may have moved a try after the ledger's backup. A promised try no longer moves, but a promise that was
 * written after the backup may repeat a lost one, for another time: the same wish may be read again.
 */
function mayHaveMoved({ tries, history }: Pick<CallRow, "tries" | "history">, at: number): boolean {
  if (tries?.callBacks === undefined || tries.number === 1) return false;
  if (tries.promisedAt === undefined) return true;
  // A full history does not say when it was promised.
  const promise = history.findLast(({ reason }) => reason === "call_back");
  return promise === undefined || promise.at > at;
}
