import { accountBreakerOf, agentBreakerOf } from "../../../shared/documents/breakers.ts";
import type { DocumentsRead, StoredDocument } from "../../../shared/documents/documents.ts";
import type { Route } from "../../../shared/providers/index.ts";
import type { ReadyDeps } from "../dialer.ts";

/** Unanswered requests in a row that open an account's breaker. */
const unansweredInRowMax = 5;
/** Requests of which half unanswered open it. */
const requestsCounted = 20;
/** Equal refusals in a row, of different numbers, that open an agent's breaker. */
const refusalsInRowMax = 20;
const failuresLifeMs = 3_600_000;
/** Numbers that a process remembers to have counted for an agent. */
const countedNumbersMax = 1_000;

/**
 * Counts for an account that a request was answered, or that it was not: an answer counts only where failures are
 * known, as there is no row to break otherwise.
 *
 * @returns whether its breaker is to be opened
 */
export async function countAnswer(
  route: Route,
  isAnswered: boolean,
  read: DocumentsRead,
  deps: ReadyDeps,
): Promise<boolean> {
  const { documents, clock } = deps;
  const key = accountBreakerOf(route);
  const known = read.get("failures", key)?.value;
  if (isAnswered && (known?.["unanswered"] ?? 0) === 0) return false;
  const counters = isAnswered ? { answered: 1 } : { unanswered: 1, inRow: 1 };
  const expiresAt = clock.now() + failuresLifeMs;
  const all = await documents.add({ kind: "failures", key }, counters, expiresAt);
  const { answered = 0, unanswered = 0, inRow = 0 } = all;
  const count = answered + unanswered;
  if (isAnswered || count > requestsCounted) {
    // What was counted decides, whether or not it can be tidied.
    await settleCounters(key, isAnswered, deps).catch(() => undefined);
  }
  const isHalf = count >= requestsCounted && unanswered >= answered;
  return !isAnswered && (inRow >= unansweredInRowMax || isHalf);
}

/** An answer ends the row of failures; above twenty requests both counts are halved. */
async function settleCounters(key: string, isAnswered: boolean, deps: ReadyDeps): Promise<void> {
  const name = { kind: "failures", key } as const;
  const standing = (await deps.documents.read([name])).get("failures", key);
  if (standing === undefined) return;
  const { answered = 0, unanswered = 0, inRow = 0 } = standing.value;
  const half = answered + unanswered > requestsCounted ? 2 : 1;
  const value = {
    answered: Math.floor(answered / half),
    unanswered: Math.floor(unanswered / half),
    inRow: isAnswered ? 0 : inRow,
  };
  await reset(standing, value, deps);
}

/**
 * Counts one refusal of an agent's call, each number once in this process. Another code begins a new row.
 *
 * @returns whether the agent's breaker is to be opened
 */
export async function countRefusal(
  agentId: string,
  code: string,
  numberHash: string,
  read: DocumentsRead,
  deps: ReadyDeps,
): Promise<boolean> {
  const { documents, clock, memory } = deps;
  const key = agentBreakerOf(agentId);
  const counted = memory.countedNumbers.get(key) ?? new Set<string>();
  memory.countedNumbers.set(key, counted);
  if (counted.has(numberHash)) return false;
  if (counted.size >= countedNumbersMax) counted.clear();
  counted.add(numberHash);
  const known = read.get("failures", key);
  if (known !== undefined && Object.keys(known.value).some((one) => one !== code)) {
    await reset(known, { [code]: 1 }, deps);
    return false;
  }
  const expiresAt = clock.now() + failuresLifeMs;
  const all = await documents.add({ kind: "failures", key }, { [code]: 1 }, expiresAt);
  return (all[code] ?? 0) >= refusalsInRowMax;
}

/** Forgets what was counted, as far as it is known. */
export async function forgetFailures(
  key: string,
  read: DocumentsRead,
  deps: ReadyDeps,
): Promise<void> {
  const failures = read.get("failures", key);
  if (failures !== undefined && Object.keys(failures.value).length > 0) {
    await reset(failures, {}, deps);
  }
}

/** Dropped on a conflict: another process counts too. */
async function reset(
  failures: StoredDocument<"failures">,
  value: Record<string, number>,
  { documents, random }: ReadyDeps,
): Promise<void> {
  const next = { ...failures, value, version: random.version() };
  await documents.write([{ next, seen: failures.version }]);
}
