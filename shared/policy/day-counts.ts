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
  /** Hash of the request's Idempotency-Key: calls of one key count once. Absent: the request has none. */
  idempotencyKey?: string | undefined;
}

/**
 * Result of counting calls. `total`: those of the day, with these. `isRepeat`: an earlier request under the key has counted
 * them. `keys`: number of keys that the day remembers.
 */
export type CountedCalls =
  | { isCounted: true; total: number; isRepeat: boolean; keys: number }
  /** `isFirst`: the limit was not met before on this day. `left`: how many more the day takes. */
  | { isCounted: false; isFirst: boolean; left: number };

/**
 * Counts calls towards the limit of a day: all of them, or none, and those of a key once: the key is counted by the same
 * addition, so that a request whose answer was a 503 is known when it is repeated. Many processes count at once, each by one addition that
 * returns the sum, so no more than `limit` calls are ever counted. Calls above it are given back by a second addition. In between, calls
 * that would have fitted may be refused.
 *
 * @throws if the document cannot be reached. The calls may be counted all the same
 */
export async function countCalls(
  of: Counted,
  { at, calls, limit, idempotencyKey }: Counting,
  documents: Documents,
): Promise<CountedCalls> {
  const [key, expiresAt] = [dayKeyOf(of, at), expiryOf(at)];
  const all = await documents.add(key, withKey(calls, idempotencyKey), expiresAt);
  const { calls: total = calls } = all;
  const keys = Object.keys(all).filter(isKeyCounter).length;
  const isRepeat = idempotencyKey !== undefined && (all[counterOf(idempotencyKey)] ?? 0) > calls;
  if (isRepeat) await releaseCalls(of, { at, calls, idempotencyKey }, documents);
  if (isRepeat || total <= limit) {
    return { isCounted: true, total: isRepeat ? total - calls : total, isRepeat, keys };
  }
  const back = { ...withKey(-calls, idempotencyKey), refused: 1 };
  const after = await documents.add(key, back, expiresAt);
  const { calls: counted = 0, refused = 1 } = after;
  return { isCounted: false, isFirst: refused === 1, left: Math.max(0, limit - counted) };
}

/** Gives back calls that were counted and that nobody dials. */
export async function releaseCalls(
  of: Counted,
  { at, calls, idempotencyKey }: Omit<Counting, "limit">,
  documents: Documents,
): Promise<void> {
  await documents.add(dayKeyOf(of, at), withKey(-calls, idempotencyKey), expiryOf(at));
}

const keyPrefix = "key ";
const counterOf = (idempotencyKey: string) => keyPrefix + idempotencyKey;
const isKeyCounter = (name: string) => name.startsWith(keyPrefix);

function withKey(calls: number, idempotencyKey: string | undefined): Record<string, number> {
  return idempotencyKey === undefined ? { calls } : { calls, [counterOf(idempotencyKey)]: calls };
}

/** Number of keys that a day remembers before those are forgotten that need not be remembered. */
const keysMax = 60;
/** Keys after which it is tried again, where many are of requests that were never repeated. */
const keysAgain = 20;

/**
 * Forgets keys that are bound, by which their repeats are known, and those whose calls were given back. Does so for one request
 * in some, and nothing if other requests count meanwhile.
 *
 * @param keys number of keys that the day remembers
 */
export async function forgetKeys(
  of: Counted,
  { at, keys }: { at: number; keys: number },
  { documents, freshVersion }: { documents: Documents; freshVersion: () => string },
): Promise<void> {
  if (keys < keysMax || keys % keysAgain !== 0) return;
  const { kind, key } = dayKeyOf(of, at);
  const current = (await documents.read([{ kind, key }])).get(kind, key);
  if (current === undefined) return;
  const hashes = Object.keys(current.value)
    .filter(isKeyCounter)
    .map((name) => name.slice(keyPrefix.length));
  const bound = await documents.read(
    hashes.map((hash) => ({ kind: "idempotency-key", key: hash })),
  );
  const value = Object.fromEntries(
    Object.entries(current.value).filter(([name, count]) => {
      if (!isKeyCounter(name)) return true;
      const isBound = bound.get("idempotency-key", name.slice(keyPrefix.length)) !== undefined;
      return count > 0 && !isBound;
    }),
  );
  const next = { ...current, version: freshVersion(), value };
  await documents.write([{ next, seen: current.version }]);
}

/** Returns the expiry of a day's counts: a day after its end, as a call of its last minute may be given back. */
function expiryOf(at: number): number {
  return nextDayAt(at) + dayMs;
}
