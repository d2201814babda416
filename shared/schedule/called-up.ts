import type { Mark } from "../documents/kinds.ts";
import { comparePlaces, type DuePlace } from "../ledger/call-ledger.ts";

/** Time after its last hint from which on a row that still stands counts as never called up. */
const hintLifeMs = 30_000;

/** The times that decide whether a mark counts, in milliseconds since the epoch. */
export interface MarkTimes {
  now: number;
  /** Time at which the account's breaker closed or it was resumed. */
  restartedAt: number;
}

/** True if a mark counts: made since the account was restarted, and not yet 30 s past its last hint. */
export function isLive({ since, until }: Mark, { now, restartedAt }: MarkTimes): boolean {
  return since > restartedAt && now <= until + hintLifeMs;
}

/** The mark that covers a row: the first at or after it. */
export function markOf(place: DuePlace, marks: readonly Mark[]): Mark | undefined {
  return marks.find((one) => comparePlaces(place, one) <= 0);
}
