import type { StoredDocument } from "../../../shared/documents/documents.ts";
import type { Mark } from "../../../shared/documents/kinds.ts";
import { comparePlaces, type DuePlace } from "../../../shared/ledger/call-ledger.ts";
import { isLive, markOf, type MarkTimes } from "../../../shared/schedule/called-up.ts";

/** Age up to which a mark moves on with the rows called up after it, so that a busy backlog has few marks. */
const youngMs = 30_000;

/** Maximum former positions of a mark. Where more moves come between a row's write and its reading, a sweep finds it. */
const formerMax = 4;

export type Backlog = StoredDocument<"backlog">;
export type BacklogValue = Backlog["value"];

/** A row called up for a time, in milliseconds since the epoch. */
export interface Turn extends DuePlace {
  moment: number;
  backlog: string;
  /** True if the row lies behind a mark that no longer counts. Such a row sets no mark. */
  isBehind?: boolean;
}

/** The times that decide whether a mark counts, and whether its rows go in a pace. */
export interface Horizon extends MarkTimes {
  isPaced: boolean;
}

/** True if a row was called up and its hint may yet come. */
export function isPending(place: DuePlace, marks: readonly Mark[], times: MarkTimes): boolean {
  const mark = markOf(place, marks);
  return mark !== undefined && isLive(mark, times);
}

/** Returns the time of the read that passed over a row before its mark. A row written later was not seen by it. */
export function passedAt(place: DuePlace, { former, at }: Mark): number {
  return former.find((one) => comparePlaces(place, one) <= 0)?.at ?? at;
}

/**
 * Returns the marks extended by the rows read up to the last mark. Without a pace, rows may wait in the queue
 * longer than expected: while rows before them are still being dialed in the order of their hints, they are
 * not lost.
 */
export function marksNow(
  marks: readonly Mark[],
  places: readonly DuePlace[],
  { last, isWhole }: { last: DuePlace | undefined; isWhole: boolean },
  { now, isPaced }: Horizon,
): Mark[] {
  const standing = Map.groupBy(places, (place) => markOf(place, marks));
  /** True while rows before these are being dialed and some of them still stand. */
  let isBehind = false;
  return marks.map((mark) => {
    const isRead = isWhole || (last !== undefined && comparePlaces(mark, last) <= 0);
    if (!isRead) return mark;
    const left = standing.get(mark)?.length ?? 0;
    const isMoving = isBehind || left < mark.left;
    if (left > 0) isBehind = isMoving;
    return { ...mark, left, until: isMoving && !isPaced ? Math.max(mark.until, now) : mark.until };
  });
}

/**
 * Returns the marks of a backlog after some of its rows were called up: the first of those that were not
 * pending, in order.
 */
export function marksAfter(
  marks: readonly Mark[],
  called: readonly Turn[],
  horizon: Horizon,
): Mark[] {
  const last = called
    .filter(({ isBehind }) => isBehind !== true)
    .toSorted(comparePlaces)
    .at(-1);
  if (last === undefined) return [...marks];
  const { now } = horizon;
  const until = called.reduce((latest, { moment }) => Math.max(latest, moment), now);
  const { dueAt, id } = last;
  const mark: Mark = { dueAt, id, until, at: now, since: now, left: called.length, former: [] };
  // Rows before a mark that no longer counts have been called up again, so the next mark covers them.
  const before = marks.filter((one) => comparePlaces(one, mark) < 0 && isLive(one, horizon));
  const after = marks.filter((one) => comparePlaces(one, mark) > 0);
  const previous = before.at(-1);
  if (previous === undefined || now - previous.since >= youngMs) return [...before, mark, ...after];
  const both: Mark = {
    ...mark,
    until: Math.max(previous.until, until),
    since: previous.since,
    left: previous.left + mark.left,
    former: [...previous.former, { dueAt: previous.dueAt, id: previous.id, at: previous.at }].slice(
      -formerMax,
    ),
  };
  return [...before.slice(0, -1), both, ...after];
}
