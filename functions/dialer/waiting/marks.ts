import type { StoredDocument } from "../../../shared/documents/documents.ts";
import type { Mark } from "../../../shared/documents/kinds.ts";
import { comparePlaces, type DuePlace } from "../../../shared/ledger/call-ledger.ts";

/** What still stands so long after its last hint was due counts as never called up. */
const hintLifeMs = 30_000;
/** Marks so young are made one, so that a busy backlog has few of them. */
const youngMs = 30_000;
const marksMax = 16;
/** A writer asks for its rows sooner than that: until then the marks that tell of them stay as they were set. */
const settledMs = 10_000;

export type Backlog = StoredDocument<"backlog">;
export type BacklogValue = Backlog["value"];

/** A row that is called up for a moment, in milliseconds since the epoch. */
export interface Turn extends DuePlace {
  moment: number;
  backlog: string;
  /** It lies behind a mark that says nothing of it, and sets none. */
  isBehind?: boolean;
}

/** What tells whether marks count. */
export interface Horizon {
  now: number;
  restartedAt: number;
  isPaced: boolean;
}

/** Whether a mark counts: made since the account was restarted, and not yet 30 s past its last hint. */
export function isLive({ since, until }: Mark, { now, restartedAt }: Horizon): boolean {
  return since > restartedAt && now <= until + hintLifeMs;
}

/** The mark that tells of a row: the first that does not lie before it. */
export function markOf(place: DuePlace, marks: readonly Mark[]): Mark | undefined {
  return marks.find((one) => comparePlaces(place, one) <= 0);
}

/** Whether a row was called up and its hint may yet come. */
export function isPending(place: DuePlace, marks: readonly Mark[], horizon: Horizon): boolean {
  const mark = markOf(place, marks);
  return mark !== undefined && isLive(mark, horizon);
}

/**
 * Marks as they count now, by the rows that were read up to the last of them. Without a pace rows may wait in the queue
 * for longer than was thought: as long as those before them are dialed, in the order of their hints, they are not lost.
 */
export function marksNow(
  marks: readonly Mark[],
  places: readonly DuePlace[],
  { last, isWhole }: { last: DuePlace | undefined; isWhole: boolean },
  { now, isPaced }: Horizon,
): Mark[] {
  const standing = Map.groupBy(places, (place) => markOf(place, marks));
  /** Whether rows before these are being dialed, and some of them still stand. */
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
 * The marks of a backlog once some of its rows are called up: the first of those that were not pending, in their
 * order.
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
  const mark: Mark = { dueAt, id, until, at: now, since: now, left: called.length };
  const before = marks.filter((one) => comparePlaces(one, mark) < 0);
  const after = marks.filter((one) => comparePlaces(one, mark) > 0);
  // What stood before a mark that no longer counts has been called up again.
  const renewed = before.map((one) =>
    isLive(one, horizon) ? one : { ...one, until, at: now, since: now },
  );
  return fewer([...merged(renewed, now), mark, ...after]);
}

/** Makes one of the first two marks that were set within half a minute, once who wrote their rows has looked at them. */
function merged(marks: readonly Mark[], now: number): Mark[] {
  const index = marks.findIndex((one, at) => {
    const other = marks[at + 1];
    return other !== undefined && other.since - one.since < youngMs && now - other.at >= settledMs;
  });
  const [one, other] = [marks[index], marks[index + 1]];
  if (one === undefined || other === undefined) return [...marks];
  const both = { ...asOne(one, other), until: Math.max(one.until, other.until) };
  return [...marks.slice(0, index), both, ...marks.slice(index + 2)];
}

/** Makes one of the two oldest marks where there are too many: sooner taken for lost than never. */
function fewer([first, second, ...others]: Mark[]): Mark[] {
  if (first === undefined || second === undefined) return first === undefined ? [] : [first];
  if (others.length + 2 <= marksMax) return [first, second, ...others];
  return [{ ...asOne(first, second), until: Math.min(first.until, second.until) }, ...others];
}

/** Two marks as one, which tells of the rows of both. */
function asOne(one: Mark, other: Mark): Mark {
  const { dueAt, id, until } = other;
  const [at, since] = [Math.max(one.at, other.at), Math.min(one.since, other.since)];
  return { dueAt, id, until, at, since, left: one.left + other.left };
}
