/**
 * Represents a row or a document that only a later version can read. It is never treated as absent: whoever decides
 * by it leaves the call.
 */
export const unreadable = "unreadable";
export type Unreadable = typeof unreadable;

/** Only a later version can read a row or a document. */
export class UnreadableError extends Error {
  override name = "UnreadableError";
}

/** Names that this version knows in `needs`: none yet. */
const understood: ReadonlySet<unknown> = new Set();

/**
 * True if a row, a document or an entry of the journal has a name in `needs` that this version does not know. A later
 * version gives one to whatever has a field that forbids, delays or narrows something: read without it, a call might go.
 */
export function needsLater(stored: unknown): boolean {
  if (typeof stored !== "object" || stored === null || !("needs" in stored)) return false;
  const { needs } = stored;
  return !Array.isArray(needs) || !needs.every((name) => understood.has(name));
}

/** @throws UnreadableError if only a later version can read it: the work waits for that version */
export function requireReadable<Found>(found: Found | Unreadable): Found {
  if (found === unreadable) throw new UnreadableError("a later version has written it");
  return found;
}

/** Rows that were read by their ids. */
export interface RowsRead<Row> {
  /** Returns the row of an id; undefined: there is none. */
  get(id: string): Row | Unreadable | undefined;
  /** The rows that this version can read, for work that may skip the others. */
  rows: Row[];
  /** Ids of the others. */
  unreadable: ReadonlySet<string>;
}

export function toRowsRead<Row extends { id: string }>(
  rows: readonly Row[],
  unreadableIds: Iterable<string>,
): RowsRead<Row> {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const others = new Set(unreadableIds);
  return {
    get: (id) => byId.get(id) ?? (others.has(id) ? unreadable : undefined),
    rows: [...byId.values()],
    unreadable: others,
  };
}
