import type { CallRow } from "#shared/calls/call-row.ts";
import type { PostedCall } from "./scenario.ts";
import { parseRow } from "#shared/ports/stored-row.ts";
import type { RowVersion } from "./ledger.ts";
import {
  callBacks,
  isCalledBack,
  type PlanTraits,
  retriedAgents,
  retry,
  retryDelaysMs,
} from "./plan.ts";
import type { Placement } from "./placement.ts";
import type { Scenario } from "./scenario.ts";

/** Maximum difference of the clocks of the processes that note a result and that dial. */
export const clockMs = { same: 0, apart: 4_000, stepping: 3_604_000 };

/** Returns the delay after an end of an agent's call, in milliseconds; undefined if no retry follows. */
function retryDelayOf(agent: string, status: string, traits: PlanTraits): number | undefined {
  const { results, retries } = traits;
  if (!results || retries !== true || !retriedAgents.some((one) => one === agent)) return undefined;
  return status === "voicemail" && !isCalledBack(agent, traits) ? undefined : retryDelaysMs[status];
}

/**
 * Returns the placements of one call that neither a rule of retries nor a wish explains, and the first one: each of the
 * others follows the end of the one before by the delay after that end, or comes when its callee asked for it.
 */
export function withoutFollowing(
  placements: readonly Placement[],
  agent: PostedCall["agent"],
  scenario: Scenario,
): Placement[] {
  const inOrder = placements.toSorted((one, other) => one.placedAt - other.placedAt);
  return inOrder.filter((one, index) => {
    const before = inOrder[index - 1];
    if (before === undefined || before.id === one.id) return true;
    const { endsAt, status, wish } = before.life;
    const delayMs = retryDelayOf(agent, status, scenario);
    const leftAt = one.leftAt + clockMs[scenario.clocks];
    const isRetry = delayMs !== undefined && leftAt >= endsAt + delayMs;
    return !isRetry && (wish?.at === undefined || leftAt < wish.at);
  });
}

export interface Chained {
  scenario: Scenario;
  /** Every version of every row, oldest first. */
  versions: readonly RowVersion[];
  /** The rows at the end. */
  rows: readonly CallRow[];
  placements: readonly Placement[];
}

/** Returns a description of every broken promise about calls that are tried again. */
export function chainViolations(chained: Chained): string[] {
  const { rows } = chained;
  const chains = Map.groupBy(
    rows.filter(({ tries }) => tries !== undefined),
    ({ id, ancestors }) => ancestors[0] ?? id,
  );
  const tooMany = [...chains].flatMap(([id, tries]) => triesTooMany(id, tries));
  // Rows that a restore took away are missed by the other checks.
  if (chained.scenario.restore !== undefined) return tooMany;
  return [
    ...tooMany,
    ...[...chains].flatMap(([id, tries]) => chainsBroken(id, tries, chained)),
    ...triesAtOnce(chained),
    ...numbersKept(chained),
  ];
}

/** Checks that a chain keeps to its budget, each number once. */
function triesTooMany(id: string, tries: readonly CallRow[]): string[] {
  const numbers = tries.map((row) => row.tries?.number ?? 0).toSorted((a, b) => a - b);
  const isRight = numbers.every((number, index) => number === index + 1);
  if (isRight && numbers.length <= retry.attempts + callBacks.most) return [];
  return [`tries: ${id} has those of the numbers ${numbers.join(", ")}`];
}

/** True if a try of a call waits, is being dialed, may have been placed, or is live. */
function isActive({ state, result, tries, next }: CallRow): boolean {
  if (tries === undefined) return false;
  if (state === "PLACED")
    return next === undefined && (result === null || result.status === "live");
  return state === "WAITING" || state === "DIALING" || state === "UNKNOWN";
}

/** Checks after each write that at most one try of a chain waits, is being dialed, may have been placed, or is live. */
function triesAtOnce({ versions }: Chained): string[] {
  const active = new Map<string, Set<string>>();
  const broken = new Set<string>();
  for (const { id, json } of versions) {
    const row = parseRow(id, "", JSON.parse(json));
    if (row?.tries === undefined) continue;
    const chain = row.ancestors[0] ?? id;
    const own = active.get(chain) ?? new Set<string>();
    active.set(chain, own);
    if (isActive(row)) own.add(id);
    else own.delete(id);
    if (own.size > 1) broken.add(`tries at once: ${[...own].join(" and ")}`);
  }
  return [...broken];
}

/** Checks that no chain ends where its rule has another try made, and that a named try has a row. */
function chainsBroken(id: string, tries: readonly CallRow[], { scenario }: Chained): string[] {
  const known = new Set(tries.map((row) => row.id));
  return tries.flatMap((row) => {
    const { next, result, history, dueAt } = row;
    if (next !== undefined) {
      return known.has(next.id) && dueAt === null ? [] : [`tries: ${id} has none after ${row.id}`];
    }
    const delayMs =
      result === null ? undefined : retryDelayOf(row.agentId, result.status, scenario);
    const { number = 0, budget = 0, until = 0 } = row.tries ?? {};
    if (row.state !== "PLACED" || delayMs === undefined || number >= budget) return [];
    // The end may have become known too late, under the previous plan, or after an operator's act.
    const isLate = Math.max(result?.endedAt ?? 0, result?.readAt ?? 0) + delayMs >= until - 60_000;
    const isActedOn = history.some(({ by }) => by !== undefined);
    const wasOld = scenario.oldPlanSeconds > 0 || scenario.hours || scenario.clocks === "stepping";
    if (isLate || isActedOn || wasOld || isUnknownBefore(row)) return [];
    return [`tries: ${id} ends after ${row.id}, which was ${result?.status}`];
  });
}

/** True if polling for the call's result had ended before its result came, which ends its chain. */
function isUnknownBefore({ events, claimedAt, result }: CallRow): boolean {
  const wasUnknown = events.some(({ status }) => status === "unknown");
  return wasUnknown || (result?.readAt ?? 0) - (claimedAt ?? 0) > 3_600_000;
}

/** Checks that no placed call has its number once everything has ended. */
function numbersKept({ rows }: Chained): string[] {
  return rows
    .filter(({ state, request }) => state === "PLACED" && request !== null)
    .map(({ id }) => `kept: the number of ${id}, which is placed`);
}
