import { backlogOfKey } from "#shared/calls/call-row.ts";
import { isTestClient } from "#shared/calls/ids.ts";
import { throttles } from "#shared/policy/breaker-causes.ts";
import { isTestBreaker } from "#shared/policy/breakers.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { skipUnreadable } from "#shared/ports/found-documents.ts";
import { upkeepKey } from "#shared/policy/ledger-epoch.ts";
import { dayMs, hourMs } from "#shared/lib/units.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Backlogs of one page, pages that are read, and due calls of a backlog that are counted. */
const pageBacklogs = 100;
const pagesMax = 5;
const dueMax = 100;
/** Backlogs that every sweep measures. The hourly visit of all backlogs names those of the others that wait longest. */
export const measuredBacklogs = pageBacklogs * pagesMax;
/** Calls that need review, and circuit breakers, that are counted. */
const reviewMax = 100;
/** Pages of calls that need review that are read beyond those of test calls. */
const reviewPagesMax = 10;
const breakersMax = 500;

/**
 * Logs the main figures, once a sweep: how many calls need review, how many are due and since when, and how many
 * circuit breakers trouble has opened. Alarms compare these figures with thresholds, so that they last as long as
 * their cause. Every figure has a maximum. Test calls count in none. Once a day it also raises an alarm about calls that
 * may expire undialed.
 *
 * @returns the facts that the next sweep is to know
 * @throws if the ledger or the documents cannot be read
 */
export async function logGauges(
  last: KnownOverdue,
  deps: Pick<DialerDeps, "documents" | "log" | "ledger" | "clock" | "settings">,
): Promise<KnownOverdue> {
  const { documents, log } = deps;
  const upkeep = (await documents.read([upkeepKey])).get("upkeep", upkeepKey.key)?.value;
  const expired = measureExpired(upkeep, deps);
  const [review, breakers, due] = await Promise.all([
    countReviews(deps),
    documents.list("breaker", { limit: breakersMax }),
    measureDue(upkeep, deps),
  ]);
  log("info", "sweep.measured", {
    needs_review: review,
    open_breakers: skipUnreadable(breakers, deps).filter(
      ({ key, value }) => !isTestBreaker(key) && isOpenByTrouble(value),
    ).length,
    ...due,
    oldest_expired_seconds: expired,
  });
  return warnOverdue(due.oldest_due_seconds * 1000, last, deps);
}

/** Time of the last alarm about calls that have been due for long. */
export type KnownOverdue = Pick<ValueOf<"sweep">, "overdueRaisedAt">;

/** Raises an alarm, once a day, while a call has been due for half of the time after which it expires. */
function warnOverdue(
  dueMs: number,
  { overdueRaisedAt = 0 }: KnownOverdue,
  { settings, clock, log }: Pick<DialerDeps, "settings" | "clock" | "log">,
): KnownOverdue {
  const now = clock.now();
  if (dueMs <= (settings.plan.expireAfterHours * hourMs) / 2) return {};
  if (now - overdueRaisedAt < dayMs) return {};
  log("alarm", "calls.overdue", { due_at: new Date(now - dueMs).toISOString() });
  return { overdueRaisedAt: now };
}

/** Time for which expired data may wait for deletion. A longer wait raises an alarm. */
const expiredMsMax = 2 * hourMs;

/** Returns the seconds since which nothing was deleted: data that expired before that time was. */
function measureExpired(
  upkeep: ValueOf<"upkeep"> | undefined,
  { clock, log }: Pick<DialerDeps, "clock" | "log">,
): number {
  const now = clock.now();
  const { purgedUntil = now } = upkeep ?? {};
  if (now - purgedUntil > expiredMsMax) {
    log("alarm", "upkeep.late", { due_at: new Date(purgedUntil).toISOString() });
  }
  return Math.floor((now - purgedUntil) / 1000);
}

function isOpenByTrouble({ state, cause }: ValueOf<"breaker">): boolean {
  return state !== "closed" && !throttles.has(cause);
}

/** Counts the real calls that need review. Test calls never hide them: unread calls count as one. */
async function countReviews({ ledger }: Pick<DialerDeps, "ledger">): Promise<number> {
  let count = 0;
  let before: string | undefined;
  for (let page = 0; page < reviewPagesMax && count < reviewMax; page++) {
    const { rows, unreadable, next } = await ledger.list({
      state: "NEEDS_REVIEW",
      before,
      limit: reviewMax,
    });
    count += rows.filter(({ mode }) => mode === "live").length + unreadable;
    if (next === undefined) return Math.min(count, reviewMax);
    before = next;
  }
  return Math.min(Math.max(1, count), reviewMax);
}

/**
 * Counts the due calls of the first backlogs, and the seconds for which the oldest of all has been due; paused ones count
 * too, as they expire. Behind the first backlogs, a call is known once an hourly visit has found it. Its backlog is read
 * again each time, so that the figure falls as soon as the call has left.
 */
async function measureDue(
  { longestDue = [] }: Pick<ValueOf<"upkeep">, "longestDue"> = {},
  { ledger, documents, clock }: Pick<DialerDeps, "ledger" | "documents" | "clock">,
): Promise<{
  due_calls: number;
  oldest_due_seconds: number;
}> {
  const until = clock.now();
  let count = 0;
  let oldest = until;
  let after: string | undefined;
  let isWhole = false;
  for (let page = 0; page < pagesMax && !isWhole; page++) {
    const listed = await documents.list("backlog", { after, limit: pageBacklogs });
    const backlogs = listed
      .filter(({ key }) => !isTestClient(backlogOfKey(key).client))
      .map(({ key }) => ({ key }));
    for (const rows of await ledger.due({ lanes: backlogs, until, each: dueMax })) {
      count += rows.length;
      oldest = Math.min(oldest, rows[0]?.dueAt ?? until);
    }
    isWhole = listed.length < pageBacklogs;
    after = listed.at(-1)?.key;
  }
  if (!isWhole && longestDue.length > 0) {
    const lanes = longestDue.map((key) => ({ key }));
    for (const [first] of await ledger.due({ lanes, until, each: 1 }))
      oldest = Math.min(oldest, first?.dueAt ?? until);
  }
  return { due_calls: count, oldest_due_seconds: Math.floor((until - oldest) / 1000) };
}
