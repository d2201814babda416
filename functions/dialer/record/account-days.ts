import type { CallRow } from "../../../shared/calls/call-row.ts";
import { accountNameOf, type Route } from "../../../shared/calls/call-request.ts";
import { isTestClient } from "../../../shared/calls/ids.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import { countCalls, nextDayAt, releaseCalls } from "../../../shared/policy/day-counts.ts";
import type { DialerDeps } from "../runtime/context.ts";

type DayDeps = Pick<DialerDeps, "documents" | "log">;

/** A claimed call, which counts towards the `callsPerDay` of its account on the day of its claim. */
interface Claimed {
  row: Pick<CallRow, "id" | "claimedAt">;
  route: Route;
}

/**
 * Counts a claimed call towards its account's day.
 *
 * @returns false if the account has placed as many calls as it may on this day
 */
export async function enterDay(
  { row, route }: Claimed,
  limit: number,
  { documents, log }: DayDeps,
): Promise<boolean> {
  const at = row.claimedAt ?? 0;
  const account = accountNameOf(route);
  const counted = await countCalls({ account }, { at, calls: 1, limit }, documents);
  if (counted.isCounted) return true;
  if (counted.isFirst) {
    const until = new Date(nextDayAt(at)).toISOString();
    const fields = { provider: route.provider, due_at: until };
    log(isTestClient(route.provider) ? "info" : "alarm", "account.calls_per_day", fields);
  }
  return false;
}

/**
 * Gives back the count of a call that surely was not placed. If this fails, the account may place fewer calls on this
 * day.
 */
export async function leaveDay(
  { row, route }: Claimed,
  { documents, log }: DayDeps,
): Promise<void> {
  const account = accountNameOf(route);
  const at = row.claimedAt ?? 0;
  await releaseCalls({ account }, { at, calls: 1 }, documents).catch((error: unknown) => {
    log("warning", "guard.release_failed", { call_id: row.id, error: errorForLog(error) });
  });
}
