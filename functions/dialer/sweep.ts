import { callOf, watchBacklog } from "../../shared/calls/call-row.ts";
import { lapsed } from "../../shared/calls/state-machine.ts";
import type { StoredDocument } from "../../shared/documents/documents.ts";
import type { DuePlace } from "../../shared/ledger/call-ledger.ts";
import { sweepKey, restoreKey } from "../../shared/documents/restore.ts";
import { errorForLog } from "../../shared/platform/log.ts";
import { callUp, type SweepTime } from "./waiting/call-up.ts";
import type { DialerDeps } from "./context.ts";
import { checkEpoch, noteEpoch } from "./epoch.ts";
import { followRequests } from "./events/follow-requests.ts";
import { sendTells } from "./events/send-tells.ts";
import { sayStranded } from "./events/stranded.ts";
import { recover } from "./recover.ts";
import { sendAsks } from "./results/send-asks.ts";
import { withPortLimits } from "./wiring.ts";
import { sendHints } from "./waiting/hints.ts";
import { unknownDueAt } from "./settle.ts";
import { countStates, logDecision } from "./write-decided.ts";

/** Lease of a sweep: no other sweep runs meanwhile, and a sweep that died is followed by the next minute's. */
const leaseMs = 55_000;
/** Maximum duration of a sweep. The next sweep goes on with the rest. */
const sweepMsMax = 45_000;
/** Time that is left to telling where calling up has taken all of it. */
const tellingMs = 5_000;
const watchPageRows = 500;
/** Maximum epochs by which the ledger may be ahead of the object store. */
const epochsAheadMax = 3;
type SweepDocument = StoredDocument<"sweep">;

/** Age of the last full round from which on deliveries raise an alarm: the schedule may have stopped. */
const heartbeatMsMax = 300_000;
/** Interval between a process's checks of the heartbeat. */
const saidEveryMs = 60_000;

/** Raises an alarm if no sweep has completed a full round for five minutes; at most once a minute. */
export async function watchHeartbeat(deps: DialerDeps): Promise<void> {
  const { documents, clock, log, memory } = deps;
  const now = clock.now();
  if (now - memory.heartbeatReadAt < saidEveryMs) return;
  memory.heartbeatReadAt = now;
  const standing = (await documents.read([sweepKey])).get("sweep", sweepKey.key);
  const lastAt = standing?.value.fullRoundAt ?? now;
  if (standing === undefined || now - lastAt <= heartbeatMsMax) return;
  log("alarm", "sweep.late", { due_at: new Date(lastAt).toISOString() });
}

/**
 * Runs one scheduled round, beside the call queue: turns claims past their time into UNKNOWN, sends hints for
 * due look-ups, resends and reviews, and calls up waiting rows fairly. A lease allows one sweep at a time.
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
  const tellTime: SweepTime = { isOver: () => clock.now() >= endAt + tellingMs };
  try {
    const taken = await takeLease(ready);
    if (taken === undefined) return;
    const { lease, restore } = taken;
    if (restore === undefined) await sweepOn(lease, time, tellTime, ready);
    else {
      await recover(restore, time, ready);
      await giveBack(lease, {}, ready);
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
  // If it cannot be read, nothing is called up: the ledger may have gone back.
  const outside = await epochStore.read();
  const read = await documents.read([sweepKey, restoreKey]);
  const standing = read.get("sweep", sweepKey.key);
  const now = clock.now();
  if (standing !== undefined && standing.value.leaseUntil > now) return undefined;
  const restore = await checkEpoch(outside, read, deps);
  const value = standing?.value ?? {
    epoch: 0,
    fullRoundAt: now, // the first sweep has missed nothing yet
    roundBeganAt: now,
    watchAfter: null,
    backlogsAfter: null,
    requestsAfter: null,
  };
  const isNewRound = value.watchAfter === null && value.backlogsAfter === null;
  const next: SweepDocument = {
    ...sweepKey,
    version: random.version(),
    value: {
      ...value,
      // While dialing is held, deliveries go on seeing that the ledger is behind.
      epoch: restore === undefined ? Math.max(value.epoch, outside) + 1 : value.epoch,
      leaseUntil: now + leaseMs,
      roundBeganAt: isNewRound ? now : value.roundBeganAt,
    },
    expiresAt: null,
  };
  const [isMine] = await documents.write([{ next, seen: standing?.version ?? null }]);
  if (isMine !== true) return undefined;
  if (restore === undefined) {
    noteEpoch(next.value.epoch, deps);
    await epochStore.write(next.value.epoch, outside).catch((error: unknown) => {
      log("alarm", "epoch.unreachable", { error: errorForLog(error) });
      // With an epoch that stays behind for long, a restore would not be noticed.
      if (next.value.epoch > outside + epochsAheadMax) throw error;
    });
  }
  return { lease: next, restore };
}

/** Gives the lease back, with what the sweep has reached. */
async function giveBack(
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
  tellTime: SweepTime,
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
  const { watchAfter, backlogsAfter, requestsAfter, roundBeganAt, fullRoundAt } = lease.value;
  // Backlogs that the last sweep had no time for come before a second look at watched rows.
  const watched =
    backlogsAfter === null
      ? await attempt(() => watch(watchAfter ?? undefined, time, deps), {
          isWhole: false,
          after: null,
        })
      : { isWhole: true, after: null };
  const calledUp = await attempt(() => callUp(backlogsAfter ?? undefined, time, deps), {
    isWhole: false,
    after: null,
  });
  await attempt(() => sendAsks(deps), undefined);
  await attempt(() => sendTells(tellTime, deps), undefined);
  const followedTo = await attempt(
    () => followRequests(requestsAfter, tellTime, deps),
    requestsAfter,
  );
  const known = await attempt(() => sayStranded(lease.value, deps), {});
  const isFull = watched.isWhole && calledUp.isWhole;
  const reached = {
    watchAfter: watched.after,
    backlogsAfter: calledUp.after,
    requestsAfter: followedTo,
    fullRoundAt: isFull ? roundBeganAt : fullRoundAt,
    ...known,
  };
  await giveBack(lease, reached, deps);
  // This event is the heartbeat: its absence for five minutes raises an alarm.
  if (isFull) log("info", "sweep.full", { ms: clock.now() - roundBeganAt });
}

/** Cursor at which the next sweep goes on. `isWhole`: everything was looked at. */
interface Reached<Place> {
  isWhole: boolean;
  after: Place | null;
}

/** Reads all due claims under way and unknown outcomes: claims become UNKNOWN, unknown outcomes get a hint. */
async function watch(
  from: DuePlace | undefined,
  time: SweepTime,
  deps: DialerDeps,
): Promise<Reached<DuePlace>> {
  const { ledger, clock } = deps;
  let after = from;
  while (!time.isOver()) {
    const until = clock.now();
    const [page = []] = await ledger.due({
      backlogs: [{ key: watchBacklog, after }],
      until,
      each: watchPageRows,
    });
    await lookAfter(page, deps);
    after = page.at(-1) ?? after;
    if (page.length < watchPageRows) return { isWhole: true, after: null };
  }
  return { isWhole: false, after: after ?? null };
}

async function lookAfter(page: readonly DuePlace[], deps: DialerDeps): Promise<void> {
  if (page.length === 0) return;
  const { ledger, clock, random, settings, log } = deps;
  const { rows, unreadable } = await ledger.read(page.map(({ id }) => id));
  for (const id of unreadable) log("alarm", "row.unreadable", { call_id: id });
  const at = clock.now();
  const { reviewAfterSeconds } = settings.plan;
  const canLookUp = (route: NonNullable<Parameters<typeof settings.providerOf>[0]>) =>
    settings.providerOf(route).lookUp !== undefined;
  const changes = [...rows.values()].flatMap((row) => {
    const of = { canLookUp: row.route !== null && canLookUp(row.route), reviewAfterSeconds };
    const dueAt = unknownDueAt(row, of, at, random.fraction());
    const next = lapsed(row, dueAt, { version: random.version(), at });
    return next === undefined ? [] : { next, seen: row.version };
  });
  const written = await ledger.write(changes);
  const made = changes.flatMap(({ next }, index) => (written[index] === true ? next : []));
  for (const row of made) {
    const call = callOf(row);
    if (call !== undefined) logDecision(deps, call, "UNKNOWN", { reason: row.reason });
  }
  await countStates(
    made.map(({ state }) => state),
    deps,
  );
  const due = [...rows.values()].filter((row) => row.state === "UNKNOWN");
  await sendHints(
    due.map(({ id }) => ({ id, moment: at })),
    deps,
  );
}
