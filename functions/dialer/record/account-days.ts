import type { CallRow } from "../../../shared/calls/call-row.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import { countCalls, nextDayAt, releaseCalls } from "../../../shared/policy/day-counts.ts";
import type { ResolvedRoute } from "../../../shared/rules/resolved-call.ts";
import type { DialerDeps } from "../runtime/context.ts";

type DayDeps = Pick<DialerDeps, "documents" | "log">;

/** A claimed call, which counts towards the `callsPerDay` of its account on the day of its claim. */
interface Claimed {
  row: Pick<CallRow, "id" | "claimedAt">;
  target: ResolvedRoute;
}

/**
 * Counts a claimed call towards its account's day.
 *
 * @returns false if the account has placed as many calls as it may on this day
 */
export async function enterDay(
  { row, target }: Claimed,
  limit: number,
  { documents, log }: DayDeps,
): Promise<boolean> {
  const at = row.claimedAt ?? 0;
  const { name, mode } = target.account;
  const counted = await countCalls({ account: name }, { at, calls: 1, limit }, documents);
  if (counted.isCounted) return true;
  if (counted.isFirst) {
    const until = new Date(nextDayAt(at)).toISOString();
    const fields = { provider: target.route.provider, due_at: until };
    log(mode === "test" ? "info" : "alarm", "account.calls_per_day", fields);
  }
  return false;
}

/**
 * Gives back the count of a call that surely was not placed. If this fails, the account may place fewer calls on this
 * day.
 */
export async function leaveDay(
  { row, target }: Claimed,
  { documents, log }: DayDeps,
): Promise<void> {
  const account = target.account.name;
  const at = row.claimedAt ?? 0;
  await releaseCalls({ account }, { at, calls: 1 }, documents).catch((error: unknown) => {
    log("warning", "guard.release_failed", { call_id: row.id, error: errorForLog(error) });
  });
}
