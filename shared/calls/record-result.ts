import type { CallResult } from "./call-result.ts";
import { contradicted, hasEnded, isContradicted } from "./ended.ts";
import type { CallRow } from "./call-row.ts";
import { resultsLane } from "./lane.ts";
import type { Write } from "./transitions.ts";

/**
 * Applies a provider's report of a placed call. The first reported end stays, except `unknown`, which is set when
 * polling ends and may be replaced. A different later end is noted in the history. One difference contradicts
 * nothing: an analysis after the end may find that a machine answered.
 *
 * @param known.result undefined if there is no record yet
 * @param known.pollAt next time to poll, as long as the call has not ended
 */
export function recordResult(
  row: CallRow,
  { result, pollAt }: { result: CallResult | undefined; pollAt: number },
  { version, at }: Write,
): CallRow | undefined {
  if (row.state !== "PLACED") return undefined;
  if (hasEnded(row.result)) {
    const { status = "" } = result ?? {};
    if (!hasEnded(result) || status === row.result?.status) return undefined;
    if (row.result?.status === "completed" && status === "voicemail") return undefined;
    if (isContradicted(row)) return undefined;
    const entry = { at, state: row.state, reason: contradicted };
    return { ...row, history: [...row.history, entry], version };
  }
  if (row.result?.status === "unknown" && !hasEnded(result)) return undefined;
  const isEnd = result !== undefined && result.status !== "live";
  const next = { ...row, version, result: result ?? row.result };
  if (isEnd) return { ...next, lane: null, dueAt: null, updatedAt: at };
  // A row settled under a plan without `results` enters the backlog with its first record.
  return { ...next, lane: row.route && resultsLane(row.route), dueAt: pollAt };
}
