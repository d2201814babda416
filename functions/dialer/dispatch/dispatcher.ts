import { errorForLog } from "../../../shared/lib/log.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { withPortLimits } from "../runtime/time-limits.ts";
import { countQueries } from "./count-queries.ts";
import { beat, type DispatcherLease, releaseDispatcher, takeOver } from "./dispatcher-lease.ts";
import { choose, chooseQuick, isDue, isIdle, readAll, send, toAccounts } from "./look.ts";
import { createLooks, type Looks } from "./looks.ts";

/** Interval between looks, and the longest one where queries have to last. */
const lookEveryMs = 2_000;
const lookEveryMsMax = 5_000;
/** Interval of the looks at accounts that have completed half of what they were allowed. */
const quickLookMs = 250;
/** Interval of beats while nothing is due. */
const idleBeatMs = 5_000;
/** Time before the end of the invocation at which the loop ends. */
const endMarginMs = 10_000;
/** Queries of one look and of one quick look, at most. */
const lookQueries = 14;
const quickLookQueries = 4;

/**
 * Runs the one loop that decides whose turn it is: every two seconds it looks at what is due, decides it and hands it out
 * in turns. It ends at once if another dispatcher beats, and once another one has taken over. Overlap is harmless, as
 * dispatches are hints. Never throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function dispatch(deps: DialerDeps, deadline: number): Promise<void> {
  const { deps: counted, queries } = countQueries(withPortLimits(deps));
  const queriesLeft = () => deps.dispatcher.queriesMax - queries();
  try {
    const lease = await takeOver(counted);
    if (lease === undefined) return;
    await runLoop(lease, { endAt: deadline - endMarginMs, queriesLeft }, counted);
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
  const looks = createLooks(first.value.accounts, deps);
  const lifeEndAt = first.value.since + dispatcher.lifeMs;
  let lease = first;
  for (;;) {
    const begunAt = clock.now();
    try {
      await readAll(looks, deps);
      const chosen = await choose(looks, deps);
      // The document tells the next dispatcher of the rows that were chosen.
      const mustBeat = isDue(looks, clock.now()) || begunAt - lease.value.beatAt >= idleBeatMs;
      const [beaten] = await Promise.all([
        mustBeat ? beat(lease, { accounts: toAccounts(looks) }, deps) : lease,
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
    await lookQuickly(looks, { until: nextAt, queriesLeft }, deps);
    await clock.sleep(nextAt - clock.now());
  }
  await releaseDispatcher(lease, { accounts: toAccounts(looks) }, deps).catch(() => undefined);
}

/**
 * Ends a loop that has nothing to do: says so, and then looks once more, as a writer of rows that saw it beat has not
 * woken another one.
 *
 * @returns false if something has become due meanwhile
 */
async function endIdle(lease: DispatcherLease, looks: Looks, deps: DialerDeps): Promise<boolean> {
  await releaseDispatcher(lease, { accounts: toAccounts(looks) }, deps);
  await readAll(looks, deps);
  return isIdle(looks, deps.clock.now());
}

/** Returns the interval of looks by which the queries that are left last for the time that is left. */
function lookMsFor(queriesLeft: number, msLeft: number): number {
  const looksLeft = Math.max(1, Math.floor(queriesLeft / lookQueries));
  return Math.min(lookEveryMsMax, Math.max(lookEveryMs, msLeft / looksLeft));
}

/** Looks again at accounts that have completed half of what they were allowed, until the next look. */
async function lookQuickly(
  looks: Looks,
  { until, queriesLeft }: { until: number; queriesLeft(): number },
  deps: DialerDeps,
): Promise<void> {
  const { clock, dispatcher, log } = deps;
  // The next looks need queries too.
  const reserved = dispatcher.queriesMax / 2;
  while (looks.quickAccounts.size > 0 && clock.now() + quickLookMs < until) {
    if (Number.isFinite(reserved) && queriesLeft() < reserved + quickLookQueries) return;
    await clock.sleep(quickLookMs);
    try {
      await send(await chooseQuick(looks, deps), looks, deps);
    } catch (error) {
      log("warning", "dispatch.failed", { error: errorForLog(error) });
      return;
    }
  }
}
