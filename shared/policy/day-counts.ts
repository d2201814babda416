import { dayMs } from "../lib/units.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";
import type { Documents } from "../ports/documents.ts";

/** A client whose calls are accepted, or an account through which calls are placed. */
export type Counted = { client: string } | { account: string };
/** One call of an account, by its id. */
type CountedCall = { account: string; call: string };

type DayKey = DocumentKey<"day-counts">;
type Day = Readonly<Record<string, number>>;

/** Names the document that counts the calls of the day of `at`, UTC. */
export function dayKeyOf(of: Counted | CountedCall, at: number): DayKey {
  return { kind: "day-counts", key: JSON.stringify([...Object.entries(of).flat(), dayTextOf(at)]) };
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
  return totalOf(documents.get(kind, key)?.value ?? {});
}

/** Returns the calls of a day: those without a request, and once those of each request that has a counted try. */
function totalOf(day: Day): number {
  const marked = Object.entries(day).filter(([name, tries]) => isMark(name) && tries > 0);
  return marked.reduce((sum, [mark]) => sum + callsOf(mark), day["calls"] ?? 0);
}

interface Counting {
  /** Time by which the day is chosen, in milliseconds since the epoch. */
  at: number;
  calls: number;
  limit: number;
  /** The request under an Idempotency-Key whose calls are counted. Absent: calls of no key. */
  request?: CountedKey | undefined;
}

/**
 * Result of counting calls. `total`: the calls of the day, including these. `marks`: number of marks of the day.
 * `isFirst`: the limit was not reached before on this day. `left`: remaining calls of the day.
 */
export type CountedCalls =
  | { isCounted: true; total: number; marks: number }
  | { isCounted: false; isFirst: boolean; left: number };

type CountingDocuments = Pick<Documents, "add" | "exchange">;

/**
 * Counts calls towards the limit of a day: all of them, or none. Many processes count at once, each by one addition
 * that returns the sum, so no more than `limit` calls are ever counted. Calls above it are subtracted by a second
 * change. In between, calls that would have fitted may be refused. A request with a key adds to its mark, which
 * counts its tries in progress or done. The mark's name has the number of the request's calls: they count once while
 * any try counts. So a repeat after a failure counts nothing more, whether or not the addition before succeeded, and
 * subtracting is one change.
 *
 * @throws if the document cannot be reached. The calls may be counted all the same, and are marked then
 */
export async function countCalls(
  of: Counted,
  counting: Counting,
  documents: CountingDocuments,
): Promise<CountedCalls> {
  const { at, calls, limit } = counting;
  const all = await documents.add(dayKeyOf(of, at), countersOf(counting, 1), expiryOf(at));
  const total = totalOf(all);
  if (total <= limit) {
    return { isCounted: true, total, marks: Object.keys(all).filter(isMark).length };
  }
  const { refused } = await leaveCalls(of, { ...counting, refused: 1 }, documents);
  return { isCounted: false, isFirst: refused === 1, left: Math.max(0, limit - (total - calls)) };
}

/**
 * Subtracts calls that were counted, because they are not accepted or nobody dials them. A mark goes with its last try,
 * or a client that is refused all day would leave as many marks as it has sent requests.
 */
export async function leaveCalls(
  of: Counted,
  { refused = 0, ...left }: Omit<Counting, "limit"> & { refused?: number },
  documents: CountingDocuments,
): Promise<Day> {
  const day = dayKeyOf(of, left.at);
  const added: Day = refused > 0 ? { refused } : {};
  const subtract = () =>
    documents.add(day, { ...countersOf(left, -1), ...added }, expiryOf(left.at));
  if (left.request === undefined) return subtract();
  const mark = markOf(left.request, left.calls);
  const onlyTry = await documents.exchange(day, { removed: { [mark]: 1 }, added });
  if (onlyTry !== undefined) return onlyTry;
  const others = await subtract();
  const tries = others[mark] ?? 0;
  if (tries > 0) return others;
  // The other tries were subtracted at the same moment, or the mark was forgotten.
  return (await documents.exchange(day, { removed: { [mark]: tries }, added: {} })) ?? others;
}

/**
 * Counts one call towards the day of its account, whether or not there is room. Retries may count it again, and several
 * processes at once: a document of the call's own says how many have, and the day has it once while any of them keeps
 * its count. The day comes first: after a failure between the additions, one call too few may go on it.
 *
 * @returns a function that gives this count back
 */
export async function countOnce(
  { account, call }: CountedCall,
  at: number,
  documents: Pick<Documents, "add">,
): Promise<() => Promise<void>> {
  const add = async (of: Counted | CountedCall, calls: 1 | -1) =>
    totalOf(await documents.add(dayKeyOf(of, at), { calls }, expiryOf(at)));
  await add({ account }, 1);
  if ((await add({ account, call }, 1)) > 1) await add({ account }, -1);
  return async () => {
    if ((await add({ account, call }, -1)) === 0) await add({ account }, -1);
  };
}

/** Returns what a try adds to a day, and subtracts from it. */
function countersOf({ calls, request }: Omit<Counting, "limit">, times: 1 | -1): Day {
  return request === undefined ? { calls: times * calls } : { [markOf(request, calls)]: times };
}

/** Returns the expiry of a day's counts: a day after its end, because a call of its last minute may be subtracted. */
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

function markOf({ key, fingerprint }: CountedKey, calls: number): string {
  return `${markPrefix}${key} ${fingerprint.slice(0, 16)} ${calls}`;
}

/** Returns the calls of a request by its mark. */
function callsOf(mark: string): number {
  return Number(mark.slice(mark.lastIndexOf(" ")));
}

/**
 * Number of marks of a day from which unneeded marks are forgotten, and the number of further marks until the next
 * time.
 */
const marksMax = 60;
const marksAgain = 20;
/** Marks that are forgotten by one exchange, at most 50. */
const forgottenAtOnce = 50;

/**
 * Forgets marks of bound keys, by which their repeats are known, and of requests that were subtracted. Calls of the
 * former stay counted, without a mark. Marks that change meanwhile are left, with the others of their exchange.
 *
 * @param marks number of marks of the day
 */
export async function forgetMarks(
  of: Counted,
  { at, marks }: { at: number; marks: number },
  documents: Pick<Documents, "read" | "exchange">,
): Promise<void> {
  if (marks < marksMax || marks % marksAgain !== 0) return;
  const day = dayKeyOf(of, at);
  const current = (await documents.read([day])).get(day.kind, day.key);
  const marked = Object.entries(current?.value ?? {}).filter(([name]) => isMark(name));
  const keyIn = (mark: string) => mark.slice(markPrefix.length, markPrefix.length + hashCharacters);
  const asked = marked.map(([name]) => ({ kind: "idempotency-key", key: keyIn(name) }) as const);
  const bound = await documents.read(asked);
  const unneeded = marked.filter(
    ([name, tries]) => tries <= 0 || bound.get("idempotency-key", keyIn(name)) !== undefined,
  );
  for (let start = 0; start < unneeded.length; start += forgottenAtOnce) {
    const removed = Object.fromEntries(unneeded.slice(start, start + forgottenAtOnce));
    // The sum of the day stays the same.
    await documents.exchange(day, { removed, added: { calls: totalOf(removed) } });
  }
}
