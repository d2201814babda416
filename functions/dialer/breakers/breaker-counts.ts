import { accountBreakerOf, agentBreakerOf } from "../../../shared/documents/breakers.ts";
import type { DocumentsRead, StoredDocument } from "../../../shared/documents/documents.ts";
import type { Route } from "../../../shared/providers/index.ts";
import type { DialerDeps } from "../context.ts";

/** Consecutive unanswered requests that open an account's breaker. */
const unansweredInRowMax = 5;
/** Number of counted requests from which on an unanswered half opens the account's breaker. */
const requestsCounted = 20;
/** Consecutive equal refusals, each of a different number, that open an agent's breaker. */
const refusalsInRowMax = 20;
const failuresLifeMs = 3_600_000;
/** Maximum numbers per agent that a process remembers as counted. */
const countedNumbersMax = 1_000;

/**
 * Counts an answered or unanswered request for an account. An answer is counted only where failures are
 * recorded: otherwise there is no run of failures to end.
 *
 * @returns true if the account's breaker must be opened
 */
export async function countAnswer(
  route: Route,
  isAnswered: boolean,
  read: DocumentsRead,
  deps: DialerDeps,
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
    // The counts decide even if settling the counters fails.
    await settleCounters(key, isAnswered, deps).catch(() => undefined);
  }
  const isHalf = count >= requestsCounted && unanswered >= answered;
  return !isAnswered && (inRow >= unansweredInRowMax || isHalf);
}

/** An answer ends the run of failures. Above twenty requests both counts are halved. */
async function settleCounters(key: string, isAnswered: boolean, deps: DialerDeps): Promise<void> {
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
 * Counts one refusal of an agent's call, each number once in this process. A different answer code starts a
 * new run.
 *
 * @returns true if the agent's breaker must be opened
 */
export async function countRefusal(
  agentId: string,
  code: string,
  numberHash: string,
  read: DocumentsRead,
  deps: DialerDeps,
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

/** Resets the counters of a key where the copy read is not zero already. */
export async function forgetFailures(
  key: string,
  read: DocumentsRead,
  deps: DialerDeps,
): Promise<void> {
  const failures = read.get("failures", key);
  if (failures !== undefined && Object.keys(failures.value).length > 0) {
    await reset(failures, {}, deps);
  }
}

/** Resets counters to `value`. Dropped on a conflict, as another process counts too. */
async function reset(
  failures: StoredDocument<"failures">,
  value: Record<string, number>,
  { documents, random }: DialerDeps,
): Promise<void> {
  const next = { ...failures, value, version: random.version() };
  await documents.write([{ next, seen: failures.version }]);
}
