import type { CallResult } from "../calls/call-result.ts";
import type { CallRow } from "../calls/call-row.ts";
import { dayMs } from "../lib/units.ts";
import type { ValueOf } from "../ports/document-kinds.ts";

/** Answered calls that are looked at, how many of them may not be short, and the seconds of a short one. */
const answeredMax = 30;
const shortMax = 20;
const shortSeconds = 3;
/** Blocked calls in a row from one caller id at which it is taken for blocked. */
const blockedMax = 10;

/** Time for which a number rests once carriers have blocked it. */
const restMs = dayMs;

type CallerIds = ValueOf<"caller-ids">;
type AgentResults = ValueOf<"agent-results">;

/** A call whose end is known. `isOfPool`: its number is of its agent's pool, and rests by itself if it is blocked. */
export type EndedRow = Pick<CallRow, "agentId" | "claimedAt" | "route" | "result"> & {
  isOfPool?: boolean;
};

/** Why an agent is paused. */
export type PauseCause = "short_calls" | "blocked";

/** Returns the number from which a call was made; empty if its route names none. */
export function callerIdOf({ route }: Pick<CallRow, "route">): string {
  const from: unknown =
    route === null ? undefined : Object.entries(route).find(([name]) => name === "from")?.[1];
  return typeof from === "string" ? from : "";
}

/** Returns how many calls in a row were blocked, including this one. A call that reached nobody says nothing. */
function blockedAfter(before: number, { status }: Pick<CallResult, "status">): number {
  if (status === "blocked") return before + 1;
  return status === "failed" || status === "invalid" || status === "unknown" ? before : 0;
}

/** Adds calls that have ended to what is known of their agent, in the order in which their ends became known. */
export function addResults(
  known: AgentResults | undefined,
  ended: readonly EndedRow[],
): AgentResults {
  const { since = 0, ...rest } = known ?? {};
  let answered = known?.answered ?? "";
  const blocked = new Map(Object.entries(known?.blocked ?? {}));
  for (const { result, claimedAt, route, isOfPool = false } of ended) {
    if (result === null || (claimedAt ?? 0) <= since) continue;
    const isShort = findShort(result);
    if (isShort !== undefined) answered = (answered + (isShort ? "s" : "l")).slice(-answeredMax);
    if (isOfPool) continue;
    const callerId = callerIdOf({ route });
    const inRow = blockedAfter(blocked.get(callerId) ?? 0, result);
    if (inRow === 0) blocked.delete(callerId);
    else blocked.set(callerId, inRow);
  }
  return { ...rest, answered, blocked: Object.fromEntries(blocked), since };
}

/** True if an answered call was short; undefined of a call that no person answered, or of unknown duration. */
function findShort({ status, seconds, answeredAt, endedAt }: CallResult): boolean | undefined {
  if (status !== "completed") return undefined;
  const measured =
    answeredAt === null || endedAt === null ? undefined : (endedAt - answeredAt) / 1000;
  const lasted = seconds ?? measured;
  return lasted === undefined ? undefined : lasted <= shortSeconds;
}

/** Returns why an agent is to be paused by its results, or undefined. */
export function findPauseCause({ answered, blocked }: AgentResults): PauseCause | undefined {
  if (answered.split("s").length - 1 >= shortMax) return "short_calls";
  return Object.values(blocked).some((inRow) => inRow >= blockedMax) ? "blocked" : undefined;
}

/** Returns what is known of an agent once it is paused: nothing, until calls after the pause have ended. */
export function afterPause(known: AgentResults, at: number): AgentResults {
  return { ...known, answered: "", blocked: {}, since: at };
}

/**
 * Adds calls of an account's pools that have ended, in the order in which their ends became known.
 *
 * @returns the numbers as they are now, undefined if nothing has changed, and those that begin to rest
 */
export function addPoolResults(
  known: CallerIds | undefined,
  ended: readonly EndedRow[],
  now: number,
): { next: CallerIds | undefined; resting: string[] } {
  const numbers = new Map(Object.entries(known?.numbers ?? {}));
  const resting: string[] = [];
  let isChanged = false;
  for (const { route, result, claimedAt } of ended) {
    const number = callerIdOf({ route });
    const before = numbers.get(number) ?? { blocked: 0, restsUntil: 0, since: 0 };
    if (result === null || (claimedAt ?? 0) <= before.since) continue;
    const blocked = blockedAfter(before.blocked, result);
    if (blocked === before.blocked) continue;
    isChanged = true;
    if (blocked < blockedMax) numbers.set(number, { ...before, blocked });
    else {
      numbers.set(number, { ...before, blocked: 0, restsUntil: now + restMs, since: now });
      resting.push(number);
    }
  }
  const next = isChanged ? { ...known, numbers: Object.fromEntries(numbers) } : undefined;
  return { next, resting };
}
