import type { CallRow, CallState } from "./call-row.ts";

/** States in which a call has not ended. NEEDS_REVIEW is over for a client: an operator decides. */
const openStates: ReadonlySet<CallState> = new Set(["WAITING", "DIALING", "UNKNOWN"]);
/** Time after which a result that is due and was not asked for is no longer waited for. */
const resultLateMs = 3_600_000;

/** True if nothing more will become of a call. A result that is long due is not asked for: its account is gone. */
export function isOver({ state, dueAt }: Pick<CallRow, "state" | "dueAt">, now: number): boolean {
  if (openStates.has(state)) return false;
  return state !== "PLACED" || dueAt === null || dueAt + resultLateMs < now;
}
