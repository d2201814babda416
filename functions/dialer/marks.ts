import type { StoredDocument } from "../../shared/documents/documents.ts";
import type { Mark } from "../../shared/documents/kinds.ts";
import type { DuePlace } from "../../shared/ledger/call-ledger.ts";

/** What still stands so long after its hint was due counts as never called up. */
const hintLifeMs = 30_000;

export type Backlog = StoredDocument<"backlog">;
export type BacklogValue = Backlog["value"];

/** A row that is called up. */
export interface Turn extends DuePlace {
  moment: number;
  backlog: string;
}

/** What tells whether marks count. */
export interface Horizon {
  now: number;
  restartedAt: number;
  isPaced: boolean;
}

/** Marks that count: made since the account was restarted, and not yet 30 s past their last hint. */
export function isLive(mark: Mark | null, { now, restartedAt }: Horizon): mark is Mark {
  return mark !== null && mark.at > restartedAt && now <= mark.until + hintLifeMs;
}

/** Whether a row was called up and its hint may yet come. */
export function isPending(
  place: DuePlace,
  { newer, older }: BacklogValue,
  horizon: Horizon,
): boolean {
  if (!isLive(newer, horizon) || isAfter(place, newer)) return false;
  return older === null || isLive(older, horizon) || isAfter(place, older);
}

/** Whether a row comes after a mark, in the order in which rows are called up. */
function isAfter(place: DuePlace, mark: DuePlace): boolean {
  return place.dueAt > mark.dueAt || (place.dueAt === mark.dueAt && place.id > mark.id);
}

/** The marks of a backlog after some of its rows were called up. */
export function marksAfter(
  { newer, older }: BacklogValue,
  own: readonly Turn[],
  now: number,
): Pick<BacklogValue, "newer" | "older"> {
  const [first, ...others] = own;
  if (first === undefined) return { newer, older };
  const last = others.reduce<Turn>(
    (reached, turn) => (isAfter(turn, reached) ? turn : reached),
    first,
  );
  const until = Math.max(now, ...own.map(({ moment }) => moment));
  const mark: Mark = { dueAt: last.dueAt, id: last.id, until, at: now };
  // Called up again were rows before the newer mark, and perhaps not all of them. What that mark tells of is called up
  // by the next sweep, should it still stand then.
  const isBehind = newer !== null && isAfter(newer, mark);
  return { newer: mark, older: isBehind ? null : newer };
}
