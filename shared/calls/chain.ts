import type { CallRow } from "./call-row.ts";
import { states } from "./states.ts";

/** Returns the id of the first call of a row's chain. */
export function chainOf({ id, ancestors }: Pick<CallRow, "id" | "ancestors">): string {
  return ancestors[0] ?? id;
}

/** True for a later try, which belongs to the request of its chain's first call. */
export function isLaterTry({ tries }: Pick<CallRow, "tries">): boolean {
  return tries !== undefined && tries.number > 1;
}

/** True if a result has named a next try whose row may not exist yet. */
export function isTryPending({
  state,
  next,
  dueAt,
}: Pick<CallRow, "state" | "next" | "dueAt">): boolean {
  return state === "PLACED" && next !== undefined && dueAt !== null;
}

/** True if the call that follows a row is a call-back that its callee was promised. */
export function isCallBackNext({ callBack }: Pick<CallRow, "callBack">): boolean {
  return callBack?.at !== undefined;
}

/**
 * True if a placed call has ended, and its record is read until it has the provider's analysis. If its callee may be
 * called back, its number is kept so long, unless it was erased meanwhile.
 */
export function awaitsAnalysis({
  state,
  next,
  dueAt,
  result,
}: Pick<CallRow, "state" | "next" | "dueAt" | "result">): boolean {
  if (state !== "PLACED" || next !== undefined || dueAt === null) return false;
  return result !== null && result.status !== "live";
}

/** Returns the number of tries that may follow a row as it stands. No retry follows a call-back. */
export function triesLeft({ tries, next, result, state, callBack }: CallRow): number {
  if (tries === undefined || isCallBackNext({ callBack })) return 0;
  const isLive = state === "PLACED" && (result === null || result.status === "live");
  const mayFollow = next !== undefined || isLive || states[state].open || state === "NEEDS_REVIEW";
  return mayFollow ? tries.budget - tries.number : 0;
}
