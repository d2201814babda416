import { sandboxType } from "#shared/calls/call-request.ts";
import { type CallRow, isIdempotent } from "#shared/calls/call-row.ts";
import { findPolling } from "#shared/dial-plan/dial-plan.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { testPollMs } from "#shared/providers/sandbox.ts";
import type { DialerDeps } from "../runtime/context.ts";

/**
 * Delay of the first look-up, as providers may not list a new call at once. The next ones follow after 1, 2, 4 …
 * minutes.
 */
const firstLookUpMs = minuteMs;
const lookUpsDoubled = 6;

/**
 * Returns the time of the next action on a call of unknown outcome: a look-up if its provider has one, a resend, or
 * the review. Times are milliseconds since the epoch.
 *
 * @param fraction random, 0 ≤ fraction < 1
 */
export function unknownDueAt(
  row: Pick<CallRow, "route" | "attempt" | "misses" | "unknownSince">,
  { now, fraction }: { now: number; fraction: number },
  { settings }: Pick<DialerDeps, "settings">,
): number {
  const { route, attempt, misses, unknownSince } = row;
  const reviewAt = (unknownSince ?? now) + settings.plan.reviewAfterSeconds * 1000;
  if (route !== null && settings.providerOf(route).lookUp !== undefined) {
    return Math.min(now + firstLookUpMs * 2 ** Math.min(misses, lookUpsDoubled), reviewAt);
  }
  if (!isIdempotent(route)) return reviewAt;
  return Math.min(Math.round(now + backoffMs(attempt, fraction)), reviewAt);
}

/** Exponential backoff from 5 s to 15 min with full jitter, at least one second; in milliseconds. */
function backoffMs(attempt: number, fraction: number): number {
  return Math.max(1000, fraction * Math.min(5_000 * 2 ** (Math.max(1, attempt) - 1), 900_000));
}

const firstPollMinutes = 2;

/**
 * Returns the time of the first poll for a claimed call's result, if the call is placed. Undefined: the plan has no
 * results, or the provider reports none.
 */
export function findNextPollAt(
  row: Pick<CallRow, "route" | "claimedAt">,
  now: number,
  { settings }: Pick<DialerDeps, "settings">,
): number | undefined {
  const { plan, providerOf } = settings;
  const { route, claimedAt } = row;
  const polling = findPolling(route, plan);
  if (polling === undefined || route === null || claimedAt === null) return undefined;
  // A call that rings nowhere ends within seconds.
  const ringsNowhere = route.provider === sandboxType || route.provider === "simulator";
  if (ringsNowhere && now < claimedAt + testPollMs) return claimedAt + testPollMs;
  const { readResult, readCallback } = providerOf(route);
  if (readResult !== undefined) return nextPollAt(claimedAt, now, polling.waitMinutes);
  // Its signed callback brings the result, or polling ends without one.
  return readCallback && claimedAt + polling.waitMinutes * minuteMs;
}

/**
 * Returns the time of the next poll for a call's result: 2, 6, 14, 30 … minutes after it was placed, the last one
 * after `waitMinutes`. Most calls end within minutes, and each poll costs a request and a written row. Times are
 * milliseconds since the epoch.
 */
export function nextPollAt(placedAt: number, now: number, waitMinutes: number): number {
  let minutes = firstPollMinutes;
  while (placedAt + minutes * minuteMs <= now) minutes = 2 * minutes + 2;
  return placedAt + Math.min(minutes, waitMinutes) * minuteMs;
}

/** True once the time for polling is over. */
export function isPolledLast(placedAt: number, now: number, waitMinutes: number): boolean {
  return now >= placedAt + waitMinutes * minuteMs;
}
