import { endMarginMs, lookEveryMs, lookEveryMsMax } from "#shared/lib/timing.ts";
import { errorForLog } from "#shared/lib/log.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { withPortLimits } from "../runtime/time-limits.ts";
import { beat, type DispatcherLease, releaseDispatcher, takeOver } from "./dispatcher-lease.ts";
import { choose, chooseQuick, isDue, isIdle, readAll, send, toOutliving } from "./look.ts";
import { createLooks, type Looks } from "./looks.ts";

/** Interval of quick looks, at accounts that have completed half of their allowance. */
const quickLookMs = 250;
/** Interval of beats while nothing is due. */
const idleBeatMs = 5_000;
/** Maximum queries of a look, and of a quick look. */
const lookQueries = 14;
const quickLookQueries = 4;
/** Statements that are left when the loop ends: a look of many rows may send more than is planned for one. */
const keptStatements = 300;

/**
 * Runs the loop that decides whose turn it is: every two seconds it reads due rows, decides them, and dispatches them
 * in turns. It ends at once if another dispatcher beats, and when another one has taken over. Overlap is harmless, as
 * dispatches are hints. Never throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function dispatch(deps: DialerDeps, deadline: number): Promise<void> {
  const ready = withPortLimits(deps);
  const queriesLeft = () => deps.statementsLeft() - keptStatements;
  try {
    const lease = await takeOver(ready);
    if (lease === undefined) return;
    await runLoop(lease, { endAt: deadline - endMarginMs, queriesLeft }, ready);
  } catch (error) {
    deps.log("alarm", "dispatch.failed", { error: errorForLog(error) });
  }
}

async function runLoop(
  first: DispatcherLease,
  { endAt, queriesLeft }: { endAt: number; queriesLeft(): number },
  deps: DialerDeps,
): Promise<void> {
  const { clock, log, dispatcher } = deps;
  const looks = createLooks(first.value, deps);
  // The next looks need queries, too.
  const atFirst = queriesLeft();
  const reserved = Number.isFinite(atFirst) ? atFirst / 2 : 0;
  const lifeEndAt = first.value.since + dispatcher.lifeMs;
  let lease = first;
  for (;;) {
    const begunAt = clock.now();
    try {
      await readAll(looks, deps);
      const chosen = await choose(looks, deps);
      looks.lookedAt = clock.now();
      // The document shows the next dispatcher the rows that were chosen.
      const mustBeat = isDue(looks, clock.now()) || begunAt - lease.value.beatAt >= idleBeatMs;
      const [beaten] = await Promise.all([
        mustBeat ? beat(lease, toOutliving(looks), deps) : lease,
        send(chosen, looks, deps),
      ]);
      if (beaten === undefined) return; // another one has taken over
      lease = beaten;
    } catch (error) {
      log("alarm", "dispatch.failed", { error: errorForLog(error) });
    }
    const left = queriesLeft();
    if (clock.now() >= endAt || left < lookQueries) break;
    if (dispatcher.endsIdle && isIdle(looks, clock.now())) {
      if (await endIdle(lease, looks, deps)) return;
      const again = await takeOver(deps);
      if (again === undefined) return;
      lease = again;
      continue;
    }
    const nextAt = begunAt + lookMsFor(left, lifeEndAt - begunAt);
    await lookQuickly(looks, { until: nextAt, queriesLeft, reserved }, deps);
    await clock.sleep(nextAt - clock.now());
  }
  await releaseDispatcher(lease, toOutliving(looks), deps).catch(() => undefined);
}

/**
 * Ends an idle loop: releases the lease, and then looks once more, as a writer of rows that saw this dispatcher beat
 * has not woken another.
 *
 * @returns false if a row has become due meanwhile
 */
async function endIdle(
  lease: DispatcherLease,
  looks: Looks,
  deps: Pick<DialerDeps, "clock" | "documents" | "random">,
): Promise<boolean> {
  await releaseDispatcher(lease, toOutliving(looks), deps);
  await readAll(looks, deps);
  return isIdle(looks, deps.clock.now());
}

/** Returns the interval of looks with which the remaining queries last for the remaining time. */
function lookMsFor(queriesLeft: number, msLeft: number): number {
  const looksLeft = Math.max(1, Math.floor(queriesLeft / lookQueries));
  return Math.min(lookEveryMsMax, Math.max(lookEveryMs, msLeft / looksLeft));
}

/** Makes quick looks until the next look. */
async function lookQuickly(
  looks: Looks,
  { until, queriesLeft, reserved }: { until: number; queriesLeft(): number; reserved: number },
  deps: DialerDeps,
): Promise<void> {
  const { clock, log } = deps;
  while (looks.quickAccounts.size > 0 && clock.now() + quickLookMs < until) {
    if (queriesLeft() < reserved + quickLookQueries) return;
    await clock.sleep(quickLookMs);
    try {
      await send(await chooseQuick(looks, deps), looks, deps);
    } catch (error) {
      log("warning", "dispatch.failed", { error: errorForLog(error) });
      return;
    }
  }
}
