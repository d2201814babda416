import { errorForLog } from "../../../shared/lib/log.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { withPortLimits } from "../runtime/time-limits.ts";
import { sendPolls } from "../results/send-polls.ts";
import { sweepEvents } from "../events/sweep-events.ts";
import { trackRequests } from "../events/track-requests.ts";
import { warnOrphaned } from "../events/warn-orphaned.ts";
import { dispatchUnknown } from "./dispatch-unknown.ts";
import { expireClaims } from "./expire-claims.ts";
import { recover } from "./recover-restore.ts";
import { releaseLease, type SweepDocument, takeLease } from "./sweep-lease.ts";
import { planSweep } from "./sweep-time.ts";
import { sweepLiveCalls } from "./sweep-live-calls.ts";
import { visitBacklogs } from "./visit-backlogs.ts";
import { watchDispatcher } from "./watch-dispatcher.ts";

/**
 * Runs one scheduled sweep, beside the call queue. A lease allows one sweep at a time, and each goes on where the last one
 * ran out of time. While the ledger counts as restored from a backup, a sweep only goes through its rows, once an operator
 * has confirmed the restore. Never throws.
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
    // This event is the heartbeat: its absence for five minutes raises an alarm.
    const { roundBeganAt } = lease.value;
    if (isFull) ready.log("info", "sweep.completed", { ms: ready.clock.now() - roundBeganAt });
  } catch (error) {
    logFailure(error, deps);
  }
}

/**
 * Runs the phases of a sweep in their order, each from the last sweep's cursor. Each is caught alone, so that trouble of
 * one, such as a list that cannot be read, does not keep the others from their work.
 *
 * @returns cursors for the next sweep; `isFull` is true if every claim and unknown outcome was looked at
 */
async function runPhases(
  last: SweepDocument["value"],
  time: ReturnType<typeof planSweep>,
  deps: DialerDeps,
): Promise<{ isFull: boolean; reached: Partial<SweepDocument["value"]> }> {
  /** Runs one phase. One that fails raises an alarm, and `otherwise` stands for its result. */
  async function run<Result>(phase: () => Promise<Result>, otherwise: Result): Promise<Result> {
    try {
      return await phase();
    } catch (error) {
      logFailure(error, deps);
      return otherwise;
    }
  }
  const { watchAfter, requestsAfter, roundBeganAt, fullRoundAt } = last;

  // Nobody may be phoned twice, so claims and unknown outcomes go first: these two make a full round.
  const areExpired = await run(() => expireClaims(deps), false);
  const unknown = await run(
    () => dispatchUnknown(watchAfter ?? undefined, time.calls, deps),
    { isWhole: false, after: null }, // the next round reads them from their beginning
  );

  // Rows that wait are the dispatcher's. A sweep sees that one runs, and ends those past their time.
  await run(() => watchDispatcher(deps), undefined);
  const visited = await run(() => visitBacklogs(last, time.calls, deps), {});

  await run(() => sweepLiveCalls(deps), undefined);

  // Results and events of calls that were dialed. Events have time of their own, however long the phases above took.
  await run(() => sendPolls(deps), undefined);
  await run(() => sweepEvents(time.events, deps), undefined);
  const trackedTo = await run(() => trackRequests(requestsAfter, time.events, deps), requestsAfter);
  const known = await run(() => warnOrphaned(last, deps), {});

  const isFull = areExpired && unknown.isWhole;
  return {
    isFull,
    reached: {
      watchAfter: unknown.after,
      ...visited,
      requestsAfter: trackedTo,
      fullRoundAt: isFull ? roundBeganAt : fullRoundAt,
      ...known,
    },
  };
}

function logFailure(error: unknown, { log }: Pick<DialerDeps, "log">): void {
  log("alarm", "sweep.failed", { error: errorForLog(error) });
}
