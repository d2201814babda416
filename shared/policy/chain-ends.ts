import type { CallRow } from "../calls/call-row.ts";

/** The facts of a call by which its chain may have ended. Its result is absent where it is not known yet. */
export type ChainCall = Pick<CallRow, "split" | "tries"> & {
  state?: CallRow["state"] | undefined;
} & Partial<Pick<CallRow, "dueAt" | "result" | "next" | "callBack">>;

/**
 * Returns the result with which a call to a split ends its chain: that of the conversation, and never of the call-back that the
 * callee was promised in it. A try that ends without being placed ends it with the result of the try before. Each
 * chain has one such call, as retries follow only calls that have none.
 */
function chainEndOf(call: ChainCall): string | undefined {
  const { split, tries, state, dueAt = null, result, next, callBack } = call;
  if (split === undefined || tries?.promisedAt !== undefined) return undefined;
  if (state === "EXPIRED" || state === "REJECTED" || state === "CANCELLED")
    return tries?.lastResult;
  const isRetried = next !== undefined && callBack?.at === undefined;
  return state !== "PLACED" || dueAt !== null || isRetried ? undefined : result?.status;
}

/** Returns what a change of a call adds to the chains of its split that have ended, by their result. */
export function chainCounters(before: ChainCall, next: ChainCall): Record<string, number> {
  const from = chainEndOf(before);
  const to = chainEndOf(next);
  if (from === to) return {};
  return { ...(from !== undefined && { [from]: -1 }), ...(to !== undefined && { [to]: 1 }) };
}
