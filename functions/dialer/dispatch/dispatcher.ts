import { endMarginMs, tickEveryMs, tickEveryMsMax } from "#shared/lib/timing.ts";
import { errorForLog } from "#shared/lib/log.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { beat, type DispatcherLease, releaseDispatcher, takeOver } from "./dispatcher-lease.ts";
import {
  choose,
  chooseQuick,
  isDue,
  isIdle,
  readAgain,
  readAll,
  send,
  toHandover,
  writeClosed,
} from "./tick.ts";
import { createDispatcherState, type DispatcherState } from "./dispatcher-state.ts";

/** Interval of quick ticks, at accounts that have completed half of their allowance. */
const quickTickMs = 250;
/** Interval of beats while nothing is due. */
const idleBeatMs = 5_000;
/** Maximum queries of a tick, and of a quick tick. */
const tickQueries = 14;
const quickTickQueries = 4;
/** Statements that are reserved at the end of the loop: a tick of many rows may send more than is planned for one. */
const reservedStatements = 300;

/**
 * Runs the loop that decides whose turn it is: every two seconds it reads due rows, decides them, and dispatches them
 * in turns. It ends at once if another dispatcher beats, and when another one has taken over. Overlap is harmless, as
 * dispatches are hints. Never throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function dispatch(deps: DialerDeps, deadline: number): Promise<void> {
  const queriesLeft = () => deps.statementsLeft() - reservedStatements;
  try {
    const lease = await takeOver(deps);
    if (lease === undefined) return;
    await runLoop(lease, { endAt: deadline - endMarginMs, queriesLeft }, deps);
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
  const state = createDispatcherState(first.value, deps);
  // The next ticks need queries, too.
  const atFirst = queriesLeft();
  const reserved = Number.isFinite(atFirst) ? atFirst / 2 : 0;
  const lifeEndAt = first.value.since + dispatcher.lifeMs;
  let lease = first;
  for (;;) {
    const begunAt = clock.now();
    try {
      await readAll(state, deps);
      const chosen = await choose(state, deps);
      state.tickedAt = clock.now();
      // The document shows the next dispatcher the rows that were chosen.
      const isIdling = chosen.closed.size === 0 && !isDue(state, clock.now());
      const mustBeat = !isIdling || begunAt - lease.value.beatAt >= idleBeatMs;
      const [beaten] = await Promise.all([
        mustBeat ? beat(lease, toHandover(state), deps) : lease,
        send(chosen, state, deps),
      ]);
      if (beaten === undefined) return; // another one has taken over
      lease = beaten;
      await writeClosed(chosen, deps);
    } catch (error) {
      log("alarm", "dispatch.failed", { error: errorForLog(error) });
    }
    const left = queriesLeft();
    if (clock.now() >= endAt || left < tickQueries) break;
    if (dispatcher.endsIdle && isIdle(state, clock.now())) {
      if (await endIdle(lease, state, deps)) return;
      const again = await takeOver(deps);
      if (again === undefined) return;
      lease = again;
      continue;
    }
    const nextAt = begunAt + tickMsFor(left, lifeEndAt - begunAt);
    await tickQuickly(state, { until: nextAt, queriesLeft, reserved }, deps);
    await clock.sleep(nextAt - clock.now());
  }
  await releaseDispatcher(lease, toHandover(state), deps).catch(() => undefined);
}

/**
 * Ends an idle loop: releases the lease and then reads once more, because a writer of rows that saw this dispatcher
 * beat has not woken another.
 *
 * @returns false if a row has become due meanwhile
 */
async function endIdle(
  lease: DispatcherLease,
  state: DispatcherState,
  deps: Pick<DialerDeps, "clock" | "documents" | "random" | "dispatcher">,
): Promise<boolean> {
  await releaseDispatcher(lease, toHandover(state), deps);
  await readAgain(state, deps);
  return isIdle(state, deps.clock.now());
}

/** Returns the interval of ticks with which the remaining queries last for the remaining time. */
function tickMsFor(queriesLeft: number, msLeft: number): number {
  const ticksLeft = Math.max(1, Math.floor(queriesLeft / tickQueries));
  return Math.min(tickEveryMsMax, Math.max(tickEveryMs, msLeft / ticksLeft));
}

/** Makes quick ticks until the next tick. */
async function tickQuickly(
  state: DispatcherState,
  { until, queriesLeft, reserved }: { until: number; queriesLeft(): number; reserved: number },
  deps: DialerDeps,
): Promise<void> {
  const { clock, log } = deps;
  while (state.quickAccounts.size > 0 && clock.now() + quickTickMs < until) {
    if (queriesLeft() < reserved + quickTickQueries) return;
    await clock.sleep(quickTickMs);
    try {
      await send(await chooseQuick(state, deps), state, deps);
    } catch (error) {
      log("warning", "dispatch.failed", { error: errorForLog(error) });
      return;
    }
  }
}
