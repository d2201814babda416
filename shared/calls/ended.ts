import type { CallResult } from "./call-result.ts";
import type { CallRow } from "./call-row.ts";

/** Reason in the history of a call whose provider has reported two different ends. */
export const contradicted = "result_contradicted";

/** True if a call's end is known. */
export function hasEnded(result: CallResult | null | undefined): boolean {
  return result != null && result.status !== "live" && result.status !== "unknown";
}

/** True if a call's provider has named two different ends of it. */
export function isContradicted({ history }: Pick<CallRow, "history">): boolean {
  return history.some(({ reason }) => reason === contradicted);
}

/** True if a placed call has ended so that another call was named after it. */
export function isFollowed({ next, result }: Pick<CallRow, "next" | "result">): boolean {
  return next !== undefined && hasEnded(result);
}

/** True if a placed call has ended so that another try was named in its stead, and nothing has contradicted its end. */
export function isSuperseded(row: CallRow): boolean {
  return isFollowed(row) && !isContradicted(row);
}
