import { errorForLog } from "../../../shared/lib/log.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { withPortLimits } from "../runtime/time-limits.ts";
import { sendPolls } from "../results/poll-results.ts";
import { sweepEvents } from "../events/sweep-events.ts";
import { sweepOwnEvents } from "../events/sweep-own-events.ts";
import { trackRequests } from "../events/track-requests.ts";
import { warnOrphaned } from "../events/warn-orphaned.ts";
import { dispatchUnknown } from "./dispatch-unknown.ts";
import { expireClaims } from "./expire-claims.ts";
import { logGauges } from "./log-gauges.ts";
import { recover } from "./recover-restore.ts";
import { purgeJournal } from "./replay-journal.ts";
import { releaseLease, type SweepDocument, takeLease } from "./sweep-lease.ts";
import { noteHashKeys } from "./note-hash-keys.ts";
import { planSweep } from "./sweep-time.ts";
import { sweepErasures } from "./sweep-erasures.ts";
import { sweepLiveCalls } from "./sweep-live-calls.ts";
import { visitBacklogs } from "./visit-backlogs.ts";
import { warnGoneRoutes } from "./warn-gone-routes.ts";
import { watchDispatcher } from "./watch-dispatcher.ts";
import { watchSize } from "./watch-size.ts";

/**
 * Runs one scheduled sweep, beside the call queue. A lease allows one sweep at a time, and each continues where the
 * last one ran out of time. During a restore from a backup, a sweep only recovers rows, once an operator has
 * confirmed the restore. Never throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function sweep(deps: DialerDeps, deadline: number): Promise<void> {
  const ready = withPortLimits(deps);
  const time = planSweep(deadline, ready);
  try {
    const taken = await takeLease(ready);
    if (taken === undefined) return;
    const { lease, restore } = taken;
    if (restore !== undefined) {
      await recover(restore, time.calls, ready);
      await releaseLease(lease, {}, ready);
      return;
    }
    const { isFull, reached } = await runPhases(lease.value, time, ready);
    await releaseLease(lease, reached, ready);
    // This event is the heartbeat. Its absence for five minutes raises an alarm.
    const { roundBeganAt } = lease.value;
    if (isFull) ready.log("info", "sweep.completed", { ms: ready.clock.now() - roundBeganAt });
  } catch (error) {
    logFailure(error, deps);
  }
}

/**
 * Runs the phases of a sweep in order, each from the last sweep's cursor. Errors are caught for each phase, so that a
 * failing one, such as a list that cannot be read, does not stop the others.
 *
 * @returns cursors for the next sweep. `isFull`: every claim and unknown outcome was checked
 */
async function runPhases(
  last: SweepDocument["value"],
  time: ReturnType<typeof planSweep>,
  deps: DialerDeps,
): Promise<{ isFull: boolean; reached: Partial<SweepDocument["value"]> }> {
  /** Runs one phase. If it fails, raises an alarm and returns `otherwise`. */
  async function run<Result>(phase: () => Promise<Result>, otherwise: Result): Promise<Result> {
    try {
      return await phase();
    } catch (error) {
      logFailure(error, deps);
      return otherwise;
    }
  }
  const { watchAfter, requestsAfter, roundBeganAt, fullRoundAt } = last;

  // Claims and unknown outcomes go first, as nobody may be phoned twice. These two make a full round.
  const areExpired = await run(() => expireClaims(deps), false);
  const unknown = await run(
    () => dispatchUnknown(watchAfter ?? undefined, time.calls, deps),
    { isWhole: false, after: null }, // the next round begins again
  );

  // Waiting rows are the dispatcher's. A sweep checks that one runs, and ends expired calls.
  await run(() => watchDispatcher(deps), undefined);
  await run(() => logGauges(deps), undefined);
  const size = await run(() => watchSize(last, deps), {});
  const gone = await run(() => warnGoneRoutes(last, deps), {});
  const visited = await run(() => visitBacklogs(last, time.calls, deps), {});

  await run(() => sweepLiveCalls(deps), undefined);
  await run(() => noteHashKeys(deps), undefined);
  await run(() => purgeJournal(time.calls, deps), undefined);
  const erased = await run(() => sweepErasures(last, time.calls, deps), {});

  // Results and events of dialed calls. Events have reserved time, however long the phases above took.
  await run(() => sendPolls(deps), undefined);
  await run(() => sweepEvents(time.events, deps), undefined);
  const sweptTo = await run(() => sweepOwnEvents(last, time.events, deps), last.ownEventsAfter);
  const trackedTo = await run(() => trackRequests(requestsAfter, time.events, deps), requestsAfter);
  const known = await run(() => warnOrphaned(last, deps), {});

  const isFull = areExpired && unknown.isWhole;
  return {
    isFull,
    reached: {
      watchAfter: unknown.after,
      ...visited,
      requestsAfter: trackedTo,
      ownEventsAfter: sweptTo,
      fullRoundAt: isFull ? roundBeganAt : fullRoundAt,
      ...known,
      ...size,
      ...gone,
      ...erased,
    },
  };
}

function logFailure(error: unknown, { log }: Pick<DialerDeps, "log">): void {
  log("alarm", "sweep.failed", { error: errorForLog(error) });
}
