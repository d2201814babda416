import { dayMs } from "../lib/units.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";
import type { Documents } from "../ports/documents.ts";

/** A client whose calls are accepted, or an account through which calls are placed. */
export type Counted = { client: string } | { account: string };

type DayKey = DocumentKey<"day-counts">;

/** Names the document that counts the calls of the day of `at`, UTC. */
export function dayKeyOf(of: Counted, at: number): DayKey {
  const [name] = Object.entries(of);
  return { kind: "day-counts", key: JSON.stringify([...(name ?? []), dayTextOf(at)]) };
}

/** Returns the day of a time, UTC, such as `2026-06-01`. */
function dayTextOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Returns the beginning of the next day, UTC, in milliseconds since the epoch. */
export function nextDayAt(at: number): number {
  return (Math.floor(at / dayMs) + 1) * dayMs;
}

/** Returns the calls of the day of `at`, as read. */
export function countedIn(documents: DocumentsRead, of: Counted, at: number): number {
  const { kind, key } = dayKeyOf(of, at);
  return documents.get(kind, key)?.value["calls"] ?? 0;
}

interface Counting {
  /** Time by which the day is chosen, in milliseconds since the epoch. */
  at: number;
  calls: number;
  limit: number;
}

/** Result of counting calls. `total`: those of the day, with these. */
export type CountedCalls =
  | { isCounted: true; total: number }
  /** `isFirst`: the limit was not met before on this day. `left`: how many more the day takes. */
  | { isCounted: false; isFirst: boolean; left: number };

/**
 * Counts calls towards the limit of a day: all of them, or none. Many processes count at once, each by one addition that
 * returns the sum, so no more than `limit` calls are ever counted. Calls above it are given back by a second addition. In between, calls
 * that would have fitted may be refused.
 *
 * @throws if the document cannot be reached. The calls may be counted all the same
 */
export async function countCalls(
  of: Counted,
  { at, calls, limit }: Counting,
  documents: Documents,
): Promise<CountedCalls> {
  const [key, expiresAt] = [dayKeyOf(of, at), expiryOf(at)];
  const { calls: total = calls } = await documents.add(key, { calls }, expiresAt);
  if (total <= limit) return { isCounted: true, total };
  const after = await documents.add(key, { calls: -calls, refused: 1 }, expiresAt);
  const { calls: counted = 0, refused = 1 } = after;
  return { isCounted: false, isFirst: refused === 1, left: Math.max(0, limit - counted) };
}

/** Gives back calls that were counted and that nobody dials. */
export async function releaseCalls(
  of: Counted,
  { at, calls }: Pick<Counting, "at" | "calls">,
  documents: Documents,
): Promise<void> {
  await documents.add(dayKeyOf(of, at), { calls: -calls }, expiryOf(at));
}

/** Returns the expiry of a day's counts: a day after its end, as a call of its last minute may be given back. */
function expiryOf(at: number): number {
  return nextDayAt(at) + dayMs;
}
