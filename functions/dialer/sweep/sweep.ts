import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { errorForLog } from "#shared/lib/log.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { sendPolls } from "../results/send-polls.ts";
import { sweepEvents } from "./sweep-events.ts";
import { sweepClientReceiverEvents } from "./sweep-client-receiver-events.ts";
import { warnOrphaned } from "./warn-orphaned.ts";
import { dispatchUnknown } from "./dispatch-unknown.ts";
import { expireClaims } from "./expire-claims.ts";
import { logGauges } from "./log-gauges.ts";
import { recover } from "./recover-restore.ts";
import { type HeldLease, holdLease, takeLease } from "./sweep-lease.ts";
import { recordKeyNames } from "./record-key-names.ts";
import { planSweep } from "./sweep-time.ts";
import { sweepLiveCalls } from "./sweep-live-calls.ts";
import { warnGoneRoutes } from "./warn-gone-routes.ts";
import { watchDispatcher } from "./watch-dispatcher.ts";
import { watchSize } from "./watch-size.ts";

/** Maximum part of one sweep. On D1 they share a thousand statements, of which dead letters take the rest. */
const parts = {
  recover: { ms: 45_000, statements: 850 },
  unknown: { ms: 15_000, statements: 200 },
  events: { ms: 5_000, statements: 60 },
  clientReceiverEvents: { ms: 8_000, statements: 80 },
  lines: { ms: 5_000, statements: 200 },
};

/**
 * Runs one scheduled sweep, beside the call queue. A lease allows one sweep at a time, and each continues where the
 * last one ran out of its budget. During a restore from a backup, a sweep only recovers rows, once an operator has
 * confirmed the restore. Never throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function sweep(deps: DialerDeps, deadline: number): Promise<void> {
  const begin = planSweep(deadline, deps);
  try {
    const taken = await takeLease(deps);
    if (taken === undefined) return;
    const { restore } = taken;
    const lease = holdLease(deps, taken.lease);
    if (restore === undefined) await runPhases(lease, begin, deps);
    else await recover(restore, begin(parts.recover), deps);
    await lease.reach({ leaseUntil: 0 });
  } catch (error) {
    logFailure(error, deps);
  }
}

/**
 * Runs the phases of a sweep, the most important first, each from the last sweep's cursor. Errors are caught for each
 * phase, so that a failing phase, such as an unreadable list, does not stop the others.
 *
 * @throws if another sweep has taken the lease
 */
async function runPhases(
  lease: HeldLease<ValueOf<"sweep">>,
  begin: ReturnType<typeof planSweep>,
  deps: DialerDeps,
): Promise<void> {
  /** Runs one phase. If it fails, raises an alarm and returns `otherwise`. */
  async function run<Result>(phase: () => Promise<Result>, otherwise: Result): Promise<Result> {
    try {
      return await phase();
    } catch (error) {
      logFailure(error, deps);
      return otherwise;
    }
  }
  const last = lease.value;

  // Claims and unknown outcomes go first, as nobody may be phoned twice. These two make a full round.
  const areExpired = await run(() => expireClaims(deps), false);
  const unknown = await run(
    () => dispatchUnknown(last.watchAfter ?? undefined, begin(parts.unknown), deps),
    { isWhole: false, after: null }, // the next round begins again
  );
  const isFull = areExpired && unknown.isWhole;
  await lease.reach({
    watchAfter: unknown.after,
    fullRoundAt: isFull ? last.roundBeganAt : last.fullRoundAt,
  });
  // This event is the heartbeat. Its absence for five minutes raises an alarm.
  if (isFull) deps.log("info", "sweep.completed", { ms: deps.clock.now() - last.roundBeganAt });

  // Results and events of dialed calls.
  const accounts = await run(() => sendPolls(last, deps), {});
  const eventsAfter = await run(
    () => sweepEvents(last, begin(parts.events), deps),
    last.eventsAfter,
  );
  await lease.reach({
    ...accounts,
    eventsAfter,
    clientReceiverEventsAfter: await run(
      () => sweepClientReceiverEvents(last, begin(parts.clientReceiverEvents), deps),
      last.clientReceiverEventsAfter,
    ),
  });

  // Waiting rows are the dispatcher's. A sweep checks that one runs.
  await run(() => watchDispatcher(deps), undefined);
  const overdue = await run(() => logGauges(last, deps), {});
  await run(() => sweepLiveCalls(last, begin(parts.lines), deps), undefined);
  await run(() => recordKeyNames(deps), undefined);

  const size = await run(() => watchSize(last, deps), {});
  const gone = await run(() => warnGoneRoutes(last, deps), {});
  const known = await run(() => warnOrphaned(last, deps), {});
  await lease.reach({ ...overdue, ...size, ...gone, ...known });
}

function logFailure(error: unknown, { log }: Pick<DialerDeps, "log">): void {
  log("alarm", "sweep.failed", { error: errorForLog(error) });
}
