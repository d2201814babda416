import type { CallRow } from "../../../shared/calls/call-row.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { minuteMs } from "../../../shared/lib/units.ts";

const firstPollMinutes = 2;

/**
 * Returns the next time to ask what became of a claimed call, should it be placed. Undefined: the plan does not ask,
 * or the provider reports no result.
 */
export function findNextPollAt(
  row: Pick<CallRow, "route" | "claimedAt">,
  now: number,
  { settings }: Pick<DialerDeps, "settings">,
): number | undefined {
  const { plan, providerOf } = settings;
  const { route, claimedAt } = row;
  if (plan.results === undefined || route === null || claimedAt === null) return undefined;
  const { readResult, readCallback } = providerOf(route);
  if (readResult !== undefined) return nextPollAt(claimedAt, now, plan.results.waitMinutes);
  // It tells by itself, or not in time.
  return readCallback && claimedAt + plan.results.waitMinutes * minuteMs;
}

/**
 * Returns the next time to ask for the result of a call: 2, 6, 14, 30 … minutes after it was placed, and last when
 * the time for asking is over. Most calls end within minutes, and each time costs a request and a written row.
 * Times are milliseconds since the epoch.
 */
export function nextPollAt(placedAt: number, now: number, waitMinutes: number): number {
  let minutes = firstPollMinutes;
  while (placedAt + minutes * minuteMs <= now) minutes = 2 * minutes + 2;
  return placedAt + Math.min(minutes, waitMinutes) * minuteMs;
}

/** True once the time for asking is over. */
export function isPolledLast(placedAt: number, now: number, waitMinutes: number): boolean {
  return now >= placedAt + waitMinutes * minuteMs;
}
