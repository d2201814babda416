import { getOrMake } from "#shared/lib/get-or-make.ts";
import { ConflictError } from "#shared/lib/retry.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import type { StoredDocument, DocumentsRead } from "#shared/ports/document-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";
import {
  agentSeenOf,
  blamedCounterOf,
  blamedNumbersIn,
  readRefusals,
  refusalCountersOf,
  refusalsOf,
} from "#shared/policy/breakers.ts";
import type { ClientAgent } from "#shared/calls/call-row.ts";
import type { Route } from "#shared/calls/call-request.ts";

/** The facts of a call that its breakers depend on. */
export interface JudgedCall extends ClientAgent {
  route: Route;
  /** Name of the account that it was placed under. */
  account: string;
  numberHash: string;
  /** Country of its number. It shows operators which countries are refused. Undefined: the number has none. */
  country: string | undefined;
  /** Time of its request, in milliseconds since the epoch. */
  sentAt: number;
}

/** A call with the breakers and failures that were read for it. */
export interface Judged {
  call: JudgedCall;
  read: DocumentsRead;
}

/** Life of counters after their last count. */
export const failuresLifeMs = hourMs;

/** Resets counters to `value`. The write is dropped on a conflict, as another process has counted. */
export async function writeFailures(
  failures: StoredDocument<"counters">,
  value: Record<string, number>,
  { documents, random }: Pick<DialerDeps, "documents" | "random">,
): Promise<void> {
  const next = { ...failures, value, version: random.version() };
  await documents.write([{ next, seen: failures.version }]);
}

/** Reads and resets the counters of a key. */
export async function resetCounters(
  key: string,
  { documents, random, clock }: Pick<DialerDeps, "documents" | "random" | "clock">,
): Promise<void> {
  const expiresAt = clock.now() + failuresLifeMs;
  const change = (value: Record<string, number> = {}) =>
    Object.keys(value).length === 0 ? undefined : { value: {}, expiresAt };
  const edit = { name: { kind: "counters", key }, change } as const;
  await changeDocument(edit, { documents, random }).catch((error: unknown) => {
    if (!(error instanceof ConflictError)) throw error; // the next placed call resets them
  });
}

/** Interval after which a process notes again that an agent takes calls. */
const agentRecordedMs = 10 * minuteMs;

/** Notes that an agent takes calls, for providers with late agents. Otherwise a late agent would count as missing. */
export async function recordAgent(
  call: JudgedCall,
  deps: Pick<DialerDeps, "clock" | "memory" | "settings" | "documents" | "random">,
): Promise<void> {
  const { clock, memory, settings } = deps;
  if (!settings.table.kinds.hasLateAgents(call.route)) return;
  const now = clock.now();
  const key = agentSeenOf(call);
  if (now - (memory.breakers.agentsRecordedAt.get(key) ?? -Infinity) < agentRecordedMs) return;
  memory.breakers.agentsRecordedAt.set(key, now);
  const change = () => ({ value: { at: now }, expiresAt: now + hourMs });
  await changeDocument({ name: { kind: "counters", key }, change }, deps);
}

/** True if a call of the agent was placed within the hour, so that the agent exists and is only late. */
export async function wasSeen(
  call: JudgedCall,
  { documents, clock }: Pick<DialerDeps, "documents" | "clock">,
): Promise<boolean> {
  const key = agentSeenOf(call);
  const note = (await documents.read([{ kind: "counters", key }])).get("counters", key);
  return (note?.value["at"] ?? -Infinity) > clock.now() - hourMs;
}

const countedNumbersMax = 1_000;

/**
 * Counts the refusal of a backlog's call, each number once in this process. A different code starts a new run.
 *
 * @returns the length of the run, or 0 if the refusal did not count, and the countries of its numbers
 */
export async function countRefusal(
  code: string,
  { call, read }: Judged,
  deps: Pick<DialerDeps, "documents" | "clock" | "memory" | "random">,
): Promise<{ inRow: number; countries: string[] }> {
  const { documents, clock, memory } = deps;
  const key = refusalsOf(call);
  const counted = getOrMake(memory.breakers.countedNumbers, key, () => new Set<string>());
  if (counted.has(call.numberHash)) return { inRow: 0, countries: [] };
  if (counted.size >= countedNumbersMax) counted.clear();
  counted.add(call.numberHash);
  const names = refusalCountersOf(code, call.country);
  const one = Object.fromEntries(names.map((name) => [name, 1]));
  const known = read.get("counters", key);
  const knownCodes = Object.keys(readRefusals(known?.value ?? {}).refusals);
  if (known !== undefined && knownCodes.some((other) => other !== code)) {
    await writeFailures(known, { ...blamedNumbersIn(known.value), ...one }, deps);
    return { inRow: 1, countries: [] };
  }
  const all = await documents.add({ kind: "counters", key }, one, clock.now() + failuresLifeMs);
  const { refusals, countries } = readRefusals(all);
  return { inRow: refusals[code] ?? 0, countries: Object.keys(countries) };
}

/** Different numbers in a row, blamed with none placed, from which on the numbers' format is at fault. */
export const blamedInRowMax = 50;

/**
 * Counts a refusal that blames the number. Each number has a counter of its own, so that it counts once whichever
 * process dials it. At most about `blamedInRowMax` are kept.
 *
 * @returns the different numbers in a row that were blamed
 */
export async function countBlamed(
  { call, read }: Judged,
  deps: Pick<DialerDeps, "documents" | "clock" | "memory">,
): Promise<number> {
  const { documents, clock, memory } = deps;
  const key = refusalsOf(call);
  const name = blamedCounterOf(call.numberHash);
  const known = read.get("counters", key)?.value ?? {};
  const { numbers } = readRefusals(known);
  if (numbers >= blamedInRowMax || name in known) return numbers;
  // A placed call whose documents were read before this count ends the run all the same.
  getOrMake(memory.breakers.countedNumbers, key, () => new Set<string>()).add(name);
  const expiresAt = clock.now() + failuresLifeMs;
  return readRefusals(await documents.add({ kind: "counters", key }, { [name]: 1 }, expiresAt))
    .numbers;
}

/**
 * Ends a backlog's run of refusals after a placed call. The counters are read again, as other calls may have counted
 * meanwhile: a run that survived because of a conflict would open the breaker.
 */
export async function endRefusals(
  key: string,
  read: DocumentsRead,
  deps: Pick<DialerDeps, "memory" | "clock" | "documents" | "random">,
): Promise<void> {
  const { memory } = deps;
  const known = Object.keys(read.get("counters", key)?.value ?? {}).length;
  if (known + (memory.breakers.countedNumbers.get(key)?.size ?? 0) === 0) return;
  memory.breakers.countedNumbers.delete(key);
  await resetCounters(key, deps);
}
