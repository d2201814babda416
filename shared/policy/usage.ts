import type { Labels } from "../calls/labels.ts";
import type { First } from "../calls/call-request.ts";
import type { CallResult } from "../calls/call-result.ts";
import type { CallRow, HistoryEntry } from "../calls/call-row.ts";
import { type CallState, states } from "../calls/states.ts";
import { hourMs } from "../lib/units.ts";
import type { DocumentKey } from "../ports/document-kinds.ts";
import type { Addition, Documents } from "../ports/documents.ts";
import { chainCounters } from "./chain-ends.ts";
import { splitAdditions } from "./split-rounds.ts";
import { endOf, sumCounters, type UsageOf, type UsageStep } from "./usage-ends.ts";

/** Name under which a client's labels, and agents that the plan does not name, count once there are too many. */
export const otherNames = "*other";
/** Labels and agents of a client that are counted apart in an hour. The rest count together. */
const namesMax = 100;
/** Reads or additions that are under way at once. */
const atOnce = 10;

/** Counters besides the states that calls reached and the results that became known, which have their own names. */
export const usageCounters = {
  /** Calls that clients posted, at their first row. */
  accepted: "accepted",
  /** Requests, at the first row of their first call. */
  requests: "requests",
  /** Completed calls that a person answered, as the provider says. */
  human: "human",
  optedOut: "opted_out",
  /** Length of all conversations, of the completed ones, and number of completed ones whose length is known. */
  seconds: "seconds",
  completedSeconds: "completed_seconds",
  completedTimed: "completed_timed",
} as const;

/** Prefix of the cost by currency, in millionths of its unit: `cost USD`. */
const costPrefix = "cost ";

/** Names the document of an hour. The hours sort by time, and those of a client stand together. */
export function usageKeyOf(at: number, { client, agentId, labels = {} }: UsageOf) {
  // A store may return the labels in another order.
  const names = Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const key = `${hourPrefixOf(at)}${JSON.stringify([client, agentId, Object.fromEntries(names)])}`;
  return { kind: "usage", key } satisfies DocumentKey<"usage">;
}

/** Returns the beginning of the keys of an hour. Six digits sort until the year 2084. */
export function hourPrefixOf(at: number): string {
  return `${String(Math.floor(at / hourMs)).padStart(6, "0")} `;
}

/** Parses a key that `usageKeyOf` made. `hour`: its start, in milliseconds since the epoch. */
export function parseUsageKey(
  key: string,
): Omit<UsageOf, "split"> & { labels: Labels; hour: number } {
  const [client, agentId, labels]: [string, string, Labels] = JSON.parse(key.slice(7));
  return { hour: Number(key.slice(0, 6)) * hourMs, client, agentId, labels };
}

/** A call that has entered a state. */
interface Entry extends UsageOf, Pick<CallRow, "tries"> {
  state: CallState;
  /** Steps of the call before this one. */
  before: readonly HistoryEntry[];
  ancestors?: readonly string[] | undefined;
  first?: First | undefined;
  /** True if the call has not ended, as its result is still to come. */
  isPolled: boolean;
}

/** States that end a call, unless its result is still to come. */
const isEnd = (state: CallState) => !states[state].open && state !== "NEEDS_REVIEW";

/** Returns what a call's entering a state adds at this time. */
export function enteredStep(
  { client, agentId, labels, split, tries, state, before, ancestors = [], first, isPolled }: Entry,
  at: number,
): UsageStep {
  const counters: Record<string, number> = {};
  // A redial and a later try are no calls that a client posted.
  if (before.every((step) => step.state === "DIALING") && ancestors.length === 0) {
    counters[usageCounters.accepted] = 1;
    if (first === "request") counters[usageCounters.requests] = 1;
  }
  // A call that waits again, as for a permit, is the same waiting call.
  const waitsAgain = state === "WAITING" && before.some((step) => step.state === "WAITING");
  if (states[state].counted && !waitsAgain) counters[state] = 1;
  const hasEnded = before.some((step) => isEnd(step.state));
  if (isEnd(state) && !isPolled && !hasEnded) counters[endOf(state, at)] = 1;
  const call = { split, tries };
  const chains = chainCounters({ ...call, state: before.at(-1)?.state }, { ...call, state });
  return { of: { client, agentId, labels, split }, counters, chains };
}

/** Returns what a row that has just entered its state adds. An end is always the last step of its history. */
export function rowStep(row: CallRow, at: number): UsageStep {
  return enteredStep(
    { ...row, before: row.history.slice(0, -1), isPolled: row.dueAt !== null },
    at,
  );
}

/** Returns what a change of a row adds. */
export function changedStep(before: CallRow, next: CallRow, at: number): UsageStep {
  const entered =
    next.state === before.state
      ? {}
      : enteredStep({ ...next, before: before.history, isPolled: next.dueAt !== null }, at)
          .counters;
  const optedOut = next.optedOut && !before.optedOut ? { [usageCounters.optedOut]: 1 } : {};
  const { client, agentId, labels, split }: UsageOf = next;
  return {
    of: { client, agentId, labels, split },
    counters: sumCounters([
      { ...entered, ...optedOut, ...resultCounters(before, next) },
      endCounters(before, next, at),
    ]),
    chains: chainCounters(before, next),
  };
}

/** Counts a result that has become known. One that comes after `unknown` takes its place. */
function resultCounters(before: CallRow, next: CallRow): Record<string, number> {
  const { result } = next;
  if (result === null || result.status === "live" || result.status === before.result?.status)
    return {};
  const counters = countersOf(result);
  if (before.result?.status !== "unknown") return counters;
  const replaced = Object.entries(countersOf(before.result)).map(
    ([name, n]) => [name, -n] as const,
  );
  return sumCounters([counters, Object.fromEntries(replaced)]);
}

/** Returns what a final result counts: itself, its length and its cost. */
function countersOf(result: CallResult): Record<string, number> {
  return { [result.status]: 1, ...lengthCounters(result), ...costCounters(result) };
}

/** Counts the end of a placed call: its result replaces that it was placed, and a later one replaces `unknown`. */
function endCounters(before: CallRow, next: CallRow, at: number): Record<string, number> {
  // To be placed was counted as the state was entered.
  const from = endingOf(next.state === before.state ? before : { ...next, result: null });
  const to = endingOf(next);
  if (from === to) return {};
  return {
    ...(from !== undefined && { [endOf(from, at)]: -1 }),
    ...(to !== undefined && { [endOf(to, at)]: 1 }),
  };
}

/** Returns what a placed call counts as having ended with. Undefined: it is in progress, or ended before it was placed. */
function endingOf({ state, dueAt, result, next, history }: CallRow): string | undefined {
  const endedBefore = history.some((step) => isEnd(step.state) && step.state !== "PLACED");
  // A try that another one follows is no end of the call.
  const goesOn = dueAt !== null || next !== undefined;
  return state !== "PLACED" || endedBefore || goesOn ? undefined : (result?.status ?? state);
}

function lengthCounters({ status, human, seconds }: CallResult): Record<string, number> {
  const { human: ofPerson, seconds: all, completedSeconds, completedTimed } = usageCounters;
  const counters: Record<string, number> = {};
  const isCompleted = status === "completed";
  if (isCompleted && human === true) counters[ofPerson] = 1;
  if (seconds === null) return counters;
  counters[all] = Math.round(seconds);
  if (!isCompleted) return counters;
  return { ...counters, [completedSeconds]: Math.round(seconds), [completedTimed]: 1 };
}

function costCounters({ cost }: CallResult): Record<string, number> {
  const millionths = Math.round(Number(cost?.amount) * 1_000_000);
  return cost === undefined || !Number.isSafeInteger(millionths)
    ? {}
    : { [costPrefix + cost.currency]: millionths };
}

/** Returns the costs that counters have, by currency, as decimals. */
export function costsIn(
  counters: Readonly<Record<string, number>>,
): { amount: string; currency: string }[] {
  return Object.entries(counters).flatMap(([name, millionths]) => {
    if (!name.startsWith(costPrefix)) return [];
    const digits = String(millionths).padStart(7, "0");
    const amount = `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, "");
    return { amount, currency: name.slice(costPrefix.length) };
  });
}

/** Names that have a document in an hour, by the beginning of their keys. */
export type KnownUsage = Map<string, { keys: Set<string>; isFull: boolean }>;

/** The hour to which usage is added. */
interface UsageHour {
  at: number;
  retentionMs: number;
  known: KnownUsage;
  /** The agents that the plan names. */
  agents: Readonly<Record<string, unknown>>;
}

/**
 * Adds steps of calls to the usage of an hour: one document per client, agent and labels that are counted apart.
 *
 * @throws if one of them could not be added; others may have been
 */
export async function addUsage(
  steps: readonly UsageStep[],
  hour: UsageHour,
  documents: Documents,
): Promise<void> {
  const { at, retentionMs } = hour;
  const expiresAt = (Math.floor(at / hourMs) + 1) * hourMs + retentionMs;
  const sums = sumSteps(steps, at);
  await learnNames(sums, hour, documents);
  const admitted = sums.map(({ of, counters }) => ({ of: admit(of, hour), counters }));
  const additions: Addition[] = sumSteps(admitted, at).map(({ of, counters }) => ({
    ...usageKeyOf(at, of),
    counters,
    expiresAt,
  }));
  additions.push(...splitAdditions(steps, expiresAt));
  if (additions.length > 0) await documents.addAll(additions);
}

/** Sums steps by the document that counts them. */
function sumSteps(steps: readonly UsageStep[], at: number): UsageStep[] {
  const byKey = new Map<string, UsageStep>();
  for (const { of, counters } of steps) {
    if (Object.keys(counters).length === 0) continue;
    const { key } = usageKeyOf(at, of);
    const sums = sumCounters([byKey.get(key)?.counters ?? {}, counters]);
    byKey.set(key, { of, counters: sums });
  }
  return [...byKey.values()];
}

/** @throws the first error of the work, once all of it is done, or all that was under way at once has failed */
async function atMostAtOnce<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const failed: unknown[] = [];
  for (let start = 0; start < items.length; start += atOnce) {
    const done = await Promise.allSettled(items.slice(start, start + atOnce).map(work));
    failed.push(...done.flatMap((one) => (one.status === "rejected" ? [one.reason] : [])));
    if (done.every(({ status }) => status === "rejected")) break;
  }
  if (failed.length > 0) throw failed[0];
}

export function namesPrefixOf({ client }: Pick<UsageOf, "client">, at: number): string {
  return `${hourPrefixOf(at)}[${JSON.stringify(client)},`;
}

/** True if clients do not choose the names: those of agents that the plan names, without labels. */
function isFixed({ agentId, labels }: UsageOf, { agents }: UsageHour): boolean {
  return labels === undefined && Object.hasOwn(agents, agentId);
}

/** Reads once for each client which names have a document, where some are not known and there is room for them. */
async function learnNames(
  steps: readonly UsageStep[],
  hour: UsageHour,
  documents: Documents,
): Promise<void> {
  const { at, known } = hour;
  const unknown = steps.flatMap(({ of }) => {
    const prefix = namesPrefixOf(of, at);
    const { keys, isFull = false } = known.get(prefix) ?? {};
    const { key } = usageKeyOf(at, of);
    return isFixed(of, hour) || isFull || keys?.has(key) === true ? [] : prefix;
  });
  if (unknown.length === 0) return;
  // Names of earlier hours are dropped.
  for (const other of known.keys()) if (!other.startsWith(hourPrefixOf(at))) known.delete(other);
  await atMostAtOnce([...new Set(unknown)], async (prefix) => {
    const listed = await documents.list("usage", { after: prefix, limit: namesMax });
    const keys = new Set(listed.map((one) => one.key).filter((one) => one.startsWith(prefix)));
    known.set(prefix, { keys, isFull: keys.size >= namesMax });
  });
}

/**
 * Returns the names under which calls count. Clients choose labels, and names of agents that the plan does not name,
 * so beyond a maximum they count together. Concurrent writers may admit some more.
 */
function admit(of: UsageOf, hour: UsageHour): UsageOf {
  const { client, agentId, labels = {} } = of;
  const names = hour.known.get(namesPrefixOf(of, hour.at));
  if (names === undefined || isFixed(of, hour)) return of;
  const { key } = usageKeyOf(hour.at, of);
  if (!names.isFull) {
    names.keys.add(key);
    names.isFull = names.keys.size >= namesMax;
  }
  if (names.keys.has(key)) return of;
  return {
    client,
    agentId: Object.hasOwn(hour.agents, agentId) ? agentId : otherNames,
    labels: Object.fromEntries(Object.keys(labels).map((name) => [name, otherNames])),
  };
}
