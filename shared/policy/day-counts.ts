import { dayMs } from "../lib/units.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";
import type { Documents } from "../ports/documents.ts";

/** A client whose calls are accepted, or an account through which calls are placed. */
export type Counted = { client: string } | { account: string };

type DayKey = DocumentKey<"day-counts">;
type Day = Readonly<Record<string, number>>;

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
type Left = Omit<Counting, "limit">;

/**
 * Result of counting calls. `total`: those of the day, with these. `marks`: number of marks of the day. `isFirst`: the limit was not
 * met before on this day. `left`: how many more the day takes.
 */
export type CountedCalls =
  | { isCounted: true; total: number; marks: number; reference: Reference }
  | { isCounted: false; isFirst: boolean; left: number };

/**
 * Says how a try of a request is part of its mark, which is the sum of them. Each `adding` came with an addition of its calls,
 * and takes it off if another's stands; `adopting` has found one.
 */
type Reference = keyof typeof references;
const references = { adding: 1, adopting: 1_000_000 };

/** True if an addition of a request's calls stands that is not taken off before the mark is 0. */
const isHeld = (mark = 0) => mark % references.adopting > 0;

/**
 * Counts calls towards the limit of a day: all of them, or none. Many processes count at once, each by one addition that
 * returns the sum, so no more than `limit` calls are ever counted. Calls above it are given back by a second addition. In between, calls
 * that would have fitted may be refused.
 *
 * The addition also marks the request, before its key is bound: its repeat after a failure is then known, whether or not
 * the addition was done or the key was bound. Of requests that are one, the one that is marked first stays counted, for as long as
 * one of them may be accepted.
 *
 * @throws if the document cannot be reached. The calls may be counted all the same, and are marked then
 */
export async function countCalls(
  of: Counted,
  counting: Counting,
  documents: Pick<Documents, "add">,
): Promise<CountedCalls> {
  const { calls, request } = counting;
  const mark = request && markOf(request);
  const add = additionTo(of, counting, documents);
  let all = await add({ calls, ...(mark && { [mark]: references.adding }) });
  if (mark !== undefined && isHeld((all[mark] ?? 0) - references.adding))
    all = await add({ calls: -calls });
  return judge(of, { counting, all, reference: "adding" }, documents);
}

/**
 * Counts calls of a request that has been counted before, as of a repeat after a failure: its mark was read. So the calls are not added, unless
 * they have been given back meanwhile.
 *
 * @throws as `countCalls` does
 */
export async function countAgain(
  of: Counted,
  counting: Counting & { request: CountedKey },
  documents: Pick<Documents, "add">,
): Promise<CountedCalls> {
  const mark = markOf(counting.request);
  const add = additionTo(of, counting, documents);
  const all = await add({ [mark]: references.adopting });
  if (isHeld(all[mark])) return judge(of, { counting, all, reference: "adopting" }, documents);
  await add({ [mark]: -references.adopting });
  return countCalls(of, counting, documents);
}

/** Judges the counters of the day, which have these calls, and leaves them if they are above the limit. */
async function judge(
  of: Counted,
  { counting, all, reference }: { counting: Counting; all: Day; reference: Reference },
  documents: Pick<Documents, "add">,
): Promise<CountedCalls> {
  const { calls, limit } = counting;
  const { calls: total = calls } = all;
  const marks = Object.keys(all).filter(isMark).length;
  if (total <= limit) return { isCounted: true, total, marks, reference };
  const { refused } = await leaveCalls(of, { ...counting, reference, refused: 1 }, documents);
  return { isCounted: false, isFirst: refused === 1, left: Math.max(0, limit - (total - calls)) };
}

/**
 * Leaves calls that were counted: they are not accepted. The last one of a request that leaves gives its calls back, whoever has
 * added them: nobody else can be accepted on their account.
 */
export async function leaveCalls(
  of: Counted,
  { reference, refused = 0, ...left }: Left & { reference: Reference; refused?: number },
  documents: Pick<Documents, "add">,
): Promise<Day> {
  const { calls, request } = left;
  const add = additionTo(of, left, documents);
  const counters = refused > 0 ? { refused } : {};
  if (request === undefined) return add({ calls: -calls, ...counters });
  const mark = markOf(request);
  const rest = await add({ [mark]: -references[reference], ...counters });
  return (rest[mark] ?? 0) === 0 ? add({ calls: -calls }) : rest;
}

/** Gives back calls of no request that were counted and that nobody dials. */
export async function releaseCalls(
  of: Counted,
  { at, calls }: Pick<Counting, "at" | "calls">,
  documents: Pick<Documents, "add">,
): Promise<void> {
  await additionTo(of, { at }, documents)({ calls: -calls });
}

function additionTo(of: Counted, { at }: Pick<Counting, "at">, { add }: Pick<Documents, "add">) {
  return (counters: Day): Promise<Day> => add(dayKeyOf(of, at), counters, expiryOf(at));
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

/** True if a request is counted in the counts of the day of `at`, as read. */
export function isMarkedIn(
  documents: DocumentsRead,
  of: Counted,
  { at, request }: { at: number; request: CountedKey },
): boolean {
  const { kind, key } = dayKeyOf(of, at);
  return isHeld(documents.get(kind, key)?.value[markOf(request)]);
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
