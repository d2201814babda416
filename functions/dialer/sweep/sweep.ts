import { toCall, type CallRow, watchBacklog } from "../../../shared/calls/call-row.ts";
import { expireClaim } from "../../../shared/calls/transitions.ts";
import type { StoredDocument } from "../../../shared/ports/documents.ts";
import type { DuePosition } from "../../../shared/ports/ledger.ts";
import { isTooFarAhead, restoreKey, sweepKey } from "../../../shared/policy/restore.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import { accountNameOf, type Route } from "../../../shared/calls/route.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { decide } from "../decide/decide-delivered.ts";
import { documentsFor, knownBy } from "../decide/read-controls.ts";
import { checkEpoch, noteEpoch } from "../runtime/epoch.ts";
import { followRequests } from "../events/track-requests.ts";
import { sweepEvents } from "../events/sweep-events.ts";
import { warnOrphaned } from "../events/warn-orphaned.ts";
import { recover } from "./recover-restore.ts";
import { sendPolls } from "../results/send-polls.ts";
import { withPortLimits } from "../runtime/time-limits.ts";
import { sendDispatches } from "../dispatch/send-dispatches.ts";
import { visitBacklogs } from "./visit-backlogs.ts";
import { watchDispatcher } from "./watch-dispatcher.ts";
import { unknownDueAt } from "../record/settle.ts";
import { countStates, logDecision } from "../record/write-decisions.ts";
import { minuteMs } from "../../../shared/lib/units.ts";

/** Lease of a sweep: no other sweep runs meanwhile, and a sweep that died is followed by the next minute's. */
const leaseMs = 55_000;
/** Maximum duration of a sweep. The next sweep goes on with the rest. */
const sweepMsMax = 45_000;
/** Time that is left to telling where calling up has taken all of it. */
const tellingMs = 5_000;
const watchPageRows = 500;
/** Maximum calls under way that are read. */
const dialingMax = 5_000;
/** Maximum calls of unknown outcome of one account that are sent to be looked up at once. */
const lookUpsMax = 500;
type SweepDocument = StoredDocument<"sweep">;

/** The time budget of a sweep. It ends before the invocation and the lease do. */
interface SweepTime {
  isOver(): boolean;
}

/** Age of the last full round from which on deliveries raise an alarm: the schedule may have stopped. */
const heartbeatMsMax = 300_000;
/** Interval between a process's checks of the heartbeat. */
const saidEveryMs = minuteMs;

/** Raises an alarm if no sweep has completed a full round for five minutes; at most once a minute. */
export async function watchHeartbeat(deps: DialerDeps): Promise<void> {
  const { documents, clock, log, memory } = deps;
  const now = clock.now();
  if (now - memory.heartbeatReadAt < saidEveryMs) return;
  memory.heartbeatReadAt = now;
  const current = (await documents.read([sweepKey])).get("sweep", sweepKey.key);
  const lastAt = current?.value.fullRoundAt ?? now;
  if (current === undefined || now - lastAt <= heartbeatMsMax) return;
  log("alarm", "sweep.late", { due_at: new Date(lastAt).toISOString() });
}

/**
 * Runs one scheduled round, beside the call queue: turns claims past their time into UNKNOWN, dispatches due look-ups,
 * resends and reviews, and looks through each backlog once an hour for calls past their time. A lease allows one sweep at a time.
 * The next sweep continues where this one runs out of time. While the ledger counts as restored from a backup,
 * sweeps only go through its rows once an operator has confirmed it. Never throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function sweep(deps: DialerDeps, deadline: number): Promise<void> {
  const { clock, log } = deps;
  const ready = withPortLimits(deps);
  const endAt = Math.min(deadline - 5_000 - tellingMs, clock.now() + sweepMsMax);
  const time: SweepTime = { isOver: () => clock.now() >= endAt };
  const deliverTime: SweepTime = { isOver: () => clock.now() >= endAt + tellingMs };
  try {
    const taken = await takeLease(ready);
    if (taken === undefined) return;
    const { lease, restore } = taken;
    if (restore === undefined) await sweepOn(lease, time, deliverTime, ready);
    else {
      await recover(restore, time, ready);
      await release(lease, {}, ready);
    }
  } catch (error) {
    log("alarm", "sweep.failed", { error: errorForLog(error) });
  }
}

interface Taken {
  lease: SweepDocument;
  /** Set while the ledger counts as restored from a backup. */
  restore: StoredDocument<"restore"> | undefined;
}

/** Takes the lease and moves the epoch on, in the ledger and then in the object store. */
async function takeLease(deps: DialerDeps): Promise<Taken | undefined> {
  const { documents, epochStore, clock, random, log } = deps;
  // If it cannot be read, nothing is swept: the ledger may have gone back.
  const outside = await epochStore.read();
  const read = await documents.read([sweepKey, restoreKey]);
  const current = read.get("sweep", sweepKey.key);
  const now = clock.now();
  if (current !== undefined && current.value.leaseUntil > now) return undefined;
  const restore = await checkEpoch(outside, read, deps);
  const value: SweepDocument["value"] = current?.value ?? {
    epoch: 0,
    leaseUntil: 0,
    fullRoundAt: now, // the first sweep has missed nothing yet
    roundBeganAt: now,
    watchAfter: null,
    backlogsAfter: null,
    visitedAt: 0,
    requestsAfter: null,
  };
  const isNewRound = value.watchAfter === null;
  const next: SweepDocument = {
    ...sweepKey,
    version: random.version(),
    value: {
      ...value,
      // While dialing is held, deliveries go on seeing that the ledger is behind.
      epoch: restore === undefined ? Math.max(value.epoch, outside) + 1 : value.epoch,
      epochOutside: outside,
      leaseUntil: now + leaseMs,
      roundBeganAt: isNewRound ? now : value.roundBeganAt,
    },
    expiresAt: null,
  };
  const [isMine] = await documents.write([{ next, seen: current?.version ?? null }]);
  if (isMine !== true) return undefined;
  if (restore === undefined) {
    noteEpoch(next.value.epoch, deps);
    await epochStore.write(next.value.epoch, outside).catch((error: unknown) => {
      log("alarm", "epoch.unreachable", { error: errorForLog(error) });
      // With an epoch that stays behind for long, a restore would not be noticed. Dispatchers stop too.
      if (isTooFarAhead(next.value)) throw error;
    });
  }
  return { lease: next, restore };
}

/** Gives the lease back, with what the sweep has reached. */
async function release(
  lease: SweepDocument,
  reached: Partial<SweepDocument["value"]>,
  { documents, random }: DialerDeps,
): Promise<void> {
  const value = { ...lease.value, leaseUntil: 0, ...reached };
  await documents.write([
    { next: { ...lease, version: random.version(), value }, seen: lease.version },
  ]);
}

/** Runs both halves of a round from the last sweep's cursor, then gives the lease back. */
async function sweepOn(
  lease: SweepDocument,
  time: SweepTime,
  deliverTime: SweepTime,
  deps: DialerDeps,
): Promise<void> {
  const { clock, log } = deps;
  const attempt = async <Result>(work: () => Promise<Result>, otherwise: Result) => {
    try {
      return await work();
    } catch (error) {
      log("alarm", "sweep.failed", { error: errorForLog(error) });
      return otherwise;
    }
  };
  const { watchAfter, requestsAfter, roundBeganAt, fullRoundAt } = lease.value;
  const areLapsed = await attempt(() => lapseClaims(deps), false);
  const watched = await attempt(() => watch(watchAfter ?? undefined, time, deps), {
    isWhole: false,
    after: null,
  });
  await attempt(() => watchDispatcher(deps), undefined);
  const visited = await attempt(() => visitBacklogs(lease.value, time, deps), {});
  await attempt(() => sendPolls(deps), undefined);
  await attempt(() => sweepEvents(deliverTime, deps), undefined);
  const followedTo = await attempt(
    () => followRequests(requestsAfter, deliverTime, deps),
    requestsAfter,
  );
  const known = await attempt(() => warnOrphaned(lease.value, deps), {});
  const isFull = areLapsed && watched.isWhole;
  const reached = {
    watchAfter: watched.after,
    ...visited,
    requestsAfter: followedTo,
    fullRoundAt: isFull ? roundBeganAt : fullRoundAt,
    ...known,
  };
  await release(lease, reached, deps);
  // This event is the heartbeat: its absence for five minutes raises an alarm.
  if (isFull) log("info", "sweep.completed", { ms: clock.now() - roundBeganAt });
}

/** Cursor at which the next sweep goes on. `isWhole`: everything was looked at. */
interface Reached<Cursor> {
  isWhole: boolean;
  after: Cursor | null;
}

/** Turns claims past their time UNKNOWN. @returns true once all of them were looked at */
async function lapseClaims(deps: DialerDeps): Promise<boolean> {
  const { ledger, clock, random, settings, log } = deps;
  const calls = await ledger.dialing(dialingMax);
  const late = calls.filter(({ dueAt }) => dueAt <= clock.now());
  for (let start = 0; start < late.length; start += watchPageRows) {
    const ids = late.slice(start, start + watchPageRows).map(({ id }) => id);
    const { rows, unreadable } = await ledger.read(ids);
    for (const id of unreadable) log("alarm", "row.unreadable", { call_id: id });
    const at = clock.now();
    const { reviewAfterSeconds } = settings.plan;
    const canLookUp = (route: Route) => settings.providerOf(route).lookUp !== undefined;
    const changes = [...rows.values()].flatMap((row) => {
      const of = { canLookUp: row.route !== null && canLookUp(row.route), reviewAfterSeconds };
      const dueAt = unknownDueAt(row, of, at, random.fraction());
      const next = expireClaim(row, dueAt, { version: random.version(), at });
      return next === undefined ? [] : [{ next, seen: row.version }];
    });
    const written = await ledger.write(changes);
    const made = changes.flatMap(({ next }, index) => (written[index] === true ? next : []));
    for (const row of made) {
      const call = toCall(row);
      if (call !== undefined) logDecision(deps, call, "UNKNOWN", { reason: row.reason });
    }
    await countStates(
      made.map(({ state }) => state),
      deps,
    );
  }
  return calls.length < dialingMax;
}

/** Reads all unknown outcomes that are due, and dispatches them: to be looked up, sent again or reviewed. */
async function watch(
  from: DuePosition | undefined,
  time: SweepTime,
  deps: DialerDeps,
): Promise<Reached<DuePosition>> {
  const { ledger, clock, log } = deps;
  /** Rows sent so far, by account. */
  const sent = new Map<string, number>();
  let after = from;
  while (!time.isOver()) {
    const until = clock.now();
    const [page = []] = await ledger.due({
      backlogs: [{ key: watchBacklog, after }],
      until,
      each: watchPageRows,
    });
    const { rows, unreadable } = await ledger.read(page.map(({ id }) => id));
    for (const id of unreadable) log("alarm", "row.unreadable", { call_id: id });
    const mayGo = await decideUnknown([...rows.values()], deps);
    await sendDispatches(
      page.flatMap(({ id }) => dispatchOf(mayGo.get(id), sent)),
      0,
      deps,
    );
    after = page.at(-1) ?? after;
    if (page.length < watchPageRows) return { isWhole: true, after: null };
  }
  return { isWhole: false, after: after ?? null };
}

/** Returns the rows of unknown outcome of which something can be done now: those that must wait take nobody's place. */
async function decideUnknown(
  rows: readonly CallRow[],
  deps: DialerDeps,
): Promise<Map<string, CallRow>> {
  if (rows.length === 0) return new Map();
  const calls = rows.flatMap((row) => toCall(row) ?? []);
  const known = knownBy(
    await documentsFor(calls, { numbers: false }, deps),
    deps.clock.now(),
    deps,
  );
  const mayGo = rows.filter((row) => decide(undefined, row, known).kind !== "leave");
  return new Map(mayGo.map((row) => [row.id, row]));
}

/** Returns the dispatch of a row of unknown outcome, unless its account has enough of them. */
function dispatchOf(row: CallRow | undefined, sent: Map<string, number>) {
  if (row?.state !== "UNKNOWN" || row.route === null) return [];
  const account = accountNameOf(row.route);
  const count = sent.get(account) ?? 0;
  if (count >= lookUpsMax) return [];
  sent.set(account, count + 1);
  return [{ id: row.id, account, isSlow: false }];
}
