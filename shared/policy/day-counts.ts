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
  /** The request under an Idempotency-Key whose calls are counted. Absent: calls of no key. */
  request?: CountedKey | undefined;
}

/** Result of counting calls. `total`: those of the day, with these. */
export type CountedCalls =
  /** `isRepeat`: the request had been counted before, and these calls are its. `marks`: number of marks of the day. */
  | { isCounted: true; total: number; isRepeat: boolean; marks: number }
  /** `isFirst`: the limit was not met before on this day. `left`: how many more the day takes. */
  | { isCounted: false; isFirst: boolean; left: number };

/**
 * Counts calls towards the limit of a day: all of them, or none. Many processes count at once, each by one addition that
 * returns the sum, so no more than `limit` calls are ever counted. Calls above it are given back by a second addition. In between, calls
 * that would have fitted may be refused.
 *
 * The addition also marks the request, before its key is bound: its repeat after a failure is then known, whether or not
 * the addition was done or the key was bound. Of requests that are one, the one that is marked first stays counted.
 *
 * @throws if the document cannot be reached. The calls may be counted all the same, and are marked then
 */
export async function countCalls(
  of: Counted,
  { at, calls, limit, request }: Counting,
  documents: Pick<Documents, "add">,
): Promise<CountedCalls> {
  const [key, expiresAt] = [dayKeyOf(of, at), expiryOf(at)];
  const mark = request && markOf(request);
  const marked = (times: number) => (mark === undefined ? {} : { [mark]: times });
  const all = await documents.add(key, { calls, ...marked(1) }, expiresAt);
  if (mark !== undefined && (all[mark] ?? 0) > 1) {
    const once = await documents.add(key, { calls: -calls, ...marked(-1) }, expiresAt);
    if ((once[mark] ?? 0) < 1) throw new Error("the same request gave its calls back meanwhile");
    return countAgain(once, { calls, limit });
  }
  const { calls: total = calls } = all;
  const marks = Object.keys(all).filter(isMark).length;
  if (total <= limit) return { isCounted: true, total, isRepeat: false, marks };
  const after = await documents.add(key, { calls: -calls, refused: 1, ...marked(-1) }, expiresAt);
  const { calls: counted = 0, refused = 1 } = after;
  return { isCounted: false, isFirst: refused === 1, left: Math.max(0, limit - counted) };
}

/**
 * Judges calls that are counted already, as of a repeat after a failure. Above the limit they are left to whoever has counted
 * them to be given back: it may be doing so.
 *
 * @param day the day's counters, with these calls
 */
export function countAgain(
  day: Readonly<Record<string, number>>,
  { calls, limit }: Pick<Counting, "calls" | "limit">,
): CountedCalls {
  const { calls: total = calls } = day;
  const marks = Object.keys(day).filter(isMark).length;
  if (total <= limit) return { isCounted: true, total, isRepeat: true, marks };
  return { isCounted: false, isFirst: false, left: Math.max(0, limit - (total - calls)) };
}

/** Gives back calls that were counted and that nobody dials, and their request's mark. */
export async function releaseCalls(
  of: Counted,
  { at, calls, request }: Omit<Counting, "limit">,
  documents: Pick<Documents, "add">,
): Promise<void> {
  const back = { calls: -calls, ...(request && { [markOf(request)]: -1 }) };
  await documents.add(dayKeyOf(of, at), back, expiryOf(at));
}

/** Returns the expiry of a day's counts: a day after its end, as a call of its last minute may be given back. */
function expiryOf(at: number): number {
  return nextDayAt(at) + dayMs;
}

const markPrefix = "key ";
const isMark = (name: string) => name.startsWith(markPrefix);
/** Characters of a key's hash, in hexadecimal. */
const hashCharacters = 64;

/** A request with an Idempotency-Key whose calls are counted: the key's hash, and a fingerprint of the request. */
export interface CountedKey {
  key: string;
  fingerprint: string;
}

function markOf({ key, fingerprint }: CountedKey): string {
  return `${markPrefix}${key} ${fingerprint.slice(0, 16)}`;
}

/** True if a request is marked in the counts of the day of `at`, as read. */
export function isMarkedIn(
  documents: DocumentsRead,
  of: Counted,
  { at, request }: { at: number; request: CountedKey },
): boolean {
  const { kind, key } = dayKeyOf(of, at);
  return (documents.get(kind, key)?.value[markOf(request)] ?? 0) > 0;
}

/** Number of marks of a day from which on those are forgotten that are not needed, and after how many more once again. */
const marksMax = 60;
const marksAgain = 20;

/**
 * Forgets marks of keys that are bound, by which their repeats are known, and of requests whose calls were given back. Does
 * nothing if other requests count meanwhile.
 *
 * @param marks number of marks of the day
 */
export async function forgetMarks(
  of: Counted,
  { at, marks }: { at: number; marks: number },
  { documents, freshVersion }: { documents: Documents; freshVersion: () => string },
): Promise<void> {
  if (marks < marksMax || marks % marksAgain !== 0) return;
  const { kind, key } = dayKeyOf(of, at);
  const current = (await documents.read([{ kind, key }])).get(kind, key);
  if (current === undefined) return;
  const keyIn = (mark: string) => mark.slice(markPrefix.length, markPrefix.length + hashCharacters);
  const names = Object.keys(current.value).filter(isMark);
  const asked = names.map((name) => ({ kind: "idempotency-key", key: keyIn(name) }) as const);
  const bound = await documents.read(asked);
  const isNeeded = (name: string, count: number) =>
    count > 0 && bound.get("idempotency-key", keyIn(name)) === undefined;
  const kept = Object.entries(current.value).filter(
    ([name, count]) => !isMark(name) || isNeeded(name, count),
  );
  const next = { ...current, version: freshVersion(), value: Object.fromEntries(kept) };
  await documents.write([{ next, seen: current.version }]);
}
