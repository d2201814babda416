import type { CallResult } from "./call-result.ts";
import type { CallRow } from "./call-row.ts";

/** Reason in the history of a call whose provider has reported two different ends. */
export const contradicted = "result_contradicted";

/** True if a call's end is known. */
export function hasEnded(result: CallResult | null | undefined): boolean {
  return result != null && result.status !== "live" && result.status !== "unknown";
}

/** True if a placed call has ended so that another try was named in its stead, and nothing has contradicted its end. */
export function isSuperseded({ next, result, history }: CallRow): boolean {
  if (next === undefined || !hasEnded(result)) return false;
  return history.every(({ reason }) => reason !== contradicted);
}
