import { expiryOf } from "../../shared/dial-plan.ts";
import type { DuePlace, DueRow, Hold } from "../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../shared/log.ts";
import { delaySecondsMax } from "../../shared/queue/call-queue.ts";
import type { Message } from "../../shared/message.ts";
import { isCancelled, isHoldLine } from "../../shared/orders.ts";
import { decideWaiting, slotReason } from "./decide.ts";
import type { ReadyDeps } from "./dialer.ts";
import { ordersFor } from "./operator-orders.ts";
import { serveLine } from "./pace.ts";
import { unknownDueAt } from "./settlement.ts";
import { remind, type Unclaimed, writeUnclaimed } from "./write-decisions.ts";

type SweepMessage = Extract<Message, { kind: "sweep" }>;

/** So far ahead a sweep looks. */
const horizonSweeps = 2;
const pageRows = 500;
/** Rows of an operator's hold that are looked at in one go, whole calls, and how often in one sweep. */
const holdPageRows = 200;
const holdPagesMax = 50;
/** Pages of one message; the rest goes into a message of its own. */
const pagesMax = 10;

/**
 * The clock's minute: reminds of every row due within the horizon, at its second; turns claims past their
 * deadline into UNKNOWN; gives slots to those who wait for an account's pace. Failing, it waits for the next
 * minute: nothing hangs on a single sweep.
 */
export async function sweep({ after, since }: SweepMessage, deps: ReadyDeps): Promise<void> {
  const { ledger, queue, clock, log } = deps;
  const attempt = (work: () => Promise<void>) =>
    work().catch((error: unknown) => log("alarm", "sweep.failed", { error: errorForLog(error) }));
  await attempt(async () => {
    const startedAt = clock.now();
    const last = since ?? (await ledger.sweptAt()) ?? 0;
    const rest = await remindOfDue(after, last, deps);
    // Only the last page's message says that the sweep is done: what dies on the way is begun again as a whole.
    if (rest === undefined) await ledger.swept(startedAt);
    else await queue.send({ kind: "sweep", after: rest, since: last });
  });
  if (after !== undefined) return;
  await attempt(async () => {
    const [lines, holds] = await Promise.all([ledger.lines(), ledger.holds()]);
    for (const line of lines) {
      const serve = isHoldLine(line) ? serveHold : serveLine;
      await attempt(() => serve(line, holds, deps));
    }
  });
  await attempt(() => purge(deps));
}

/** Sweeps after which a row is reminded of that is overdue: ever more rarely, at last each 64. */
function remindersUpTo(sweeps: number): number {
  return [1, 4, 16].filter((one) => one <= sweeps).length + Math.max(0, Math.floor(sweeps / 64));
}

/**
 * Whether a sweep reminds of a row: ahead of its time, unless a message was sent when it was given its slot; once
 * that has passed where no sweep has seen it coming; and then ever more rarely. Whatever keeps the messages from
 * being handled, such as a long queue, must not be fed with more of them. An unknown outcome is always looked after.
 *
 * @param last when the sweep before this one was
 */
export function isReminded(
  { dueAt, reason, state }: Pick<DueRow, "dueAt" | "reason" | "state">,
  { last, now, sweepMs }: { last: number; now: number; sweepMs: number },
): boolean {
  if (dueAt > now) return reason !== slotReason;
  if (state === "UNKNOWN" || dueAt > last + horizonSweeps * sweepMs) return true;
  const sweepsAfter = (at: number) => Math.floor((at - dueAt) / sweepMs);
  return remindersUpTo(sweepsAfter(now)) > remindersUpTo(sweepsAfter(last));
}

/** Answers with the place to go on from, where there is more than one message's work. */
async function remindOfDue(
  from: DuePlace | undefined,
  last: number,
  deps: ReadyDeps,
): Promise<DuePlace | undefined> {
  const { ledger, queue, clock, settings, log } = deps;
  const sweepMs = settings.sweepSeconds * 1000;
  let after = from;
  for (let page = 0; page < pagesMax; page++) {
    const now = clock.now();
    const until = now + horizonSweeps * sweepMs;
    const rows = await ledger.due({ until, after, limit: pageRows });
    const lapsed = rows.filter(({ state, dueAt }) => state === "DIALING" && dueAt <= now);
    const waiting = rows.filter(
      (row) => row.state !== "DIALING" && isReminded(row, { last, now, sweepMs }),
    );
    await lapse(lapsed, now, deps);
    const sent = await queue.sendMany(
      waiting.map(({ id, dueAt }) => ({
        message: { kind: "due", id },
        delaySeconds: Math.min(Math.max(0, Math.ceil((dueAt - now) / 1000)), delaySecondsMax),
      })),
    );
    if (sent < waiting.length) {
      log("warning", "sweep.throttled", { count: waiting.length - sent });
      const reached = waiting[sent - 1] ?? after;
      if (reached === undefined) throw new Error("the queue took no reminder");
      return { dueAt: reached.dueAt, id: reached.id };
    }
    const end = rows.at(-1);
    if (rows.length < pageRows || end === undefined) return undefined;
    after = { dueAt: end.dueAt, id: end.id };
  }
  return after;
}

const lapsedTo = { state: "UNKNOWN", reason: "claim_lapsed" } as const;

/** Claims whose holder has not settled in time: it may have dialed. */
async function lapse(rows: DueRow[], now: number, deps: ReadyDeps): Promise<void> {
  const { ledger, settings, random, log } = deps;
  if (rows.length === 0) return;
  const { plan, providerOf } = settings;
  const settlements = rows.map(({ id, token, route, attempt }) => {
    const parkAfterSeconds = plan.parkAfterSeconds;
    const canLookUp = route !== null && providerOf(route).lookUp !== undefined;
    const lapsed = { route, attempt, parkAfterSeconds, canLookUp };
    const dueAt = unknownDueAt(lapsed, now, random.fraction());
    return { id, token: token ?? "", dueAt, at: now, ...lapsedTo };
  });
  const settled = await ledger.settle(settlements);
  const unknown = rows.filter((_, index) => settled[index]);
  for (const { id, requestId, agentId, attempt } of unknown) {
    log("warning", "call.unknown", {
      call_id: id,
      request_id: requestId,
      agent_id: agentId,
      ...lapsedTo,
      attempt,
    });
  }
  await remind(
    settlements.filter((_, index) => settled[index]),
    deps,
  );
}

/**
 * While an operator's hold stands, ends those of its calls whose time is over; once it is dropped, decides on each anew.
 */
async function serveHold(line: string, holds: readonly Hold[], deps: ReadyDeps): Promise<void> {
  const { ledger, clock, random, settings } = deps;
  const { plan, schedule } = settings;
  let after: DuePlace | undefined;
  for (let page = 0; page < holdPagesMax; page++) {
    const waiting = await ledger.due({
      line,
      until: Number.MAX_SAFE_INTEGER,
      after,
      limit: holdPageRows,
    });
    const rows = await ledger.read(waiting.map(({ id }) => id));
    const calls = [...rows.values()].flatMap(({ call }) => call ?? []);
    const orders = await ordersFor(calls, deps);
    const stands = orders.some(({ name }) => name === line);
    const now = clock.now();
    const { fraction } = random;
    const writes = waiting.flatMap(({ id }): Unclaimed[] => {
      const row = rows.get(id);
      if (row?.line !== line || row.call === null) return [];
      const { call } = row;
      if (stands && now < expiryOf(call, plan) && !isCancelled(call, orders)) return [];
      const seen = { ...row, dueAt: null };
      const decision = decideWaiting(call, seen, { plan, schedule, holds, orders, now, fraction });
      const released = {
        kind: "write",
        state: "DEFERRED",
        reason: "released",
        dueAt: now,
      } as const;
      return [{ call, row, decision: decision.kind === "write" ? decision : released }];
    });
    await writeUnclaimed(writes, deps);
    const last = waiting.at(-1);
    if (last === undefined || waiting.length < holdPageRows) return;
    // Oldest first: behind one whose time is not over, none's is.
    if (stands && writes.length < waiting.length) return;
    after = { dueAt: last.dueAt, id: last.id };
  }
}

/** Deletes what is past its retention; what nobody has resolved is said first, so that it is never silent. */
async function purge({ ledger, clock, settings, log }: ReadyDeps): Promise<void> {
  const now = clock.now();
  const before = now - settings.plan.retentionDays * 86_400_000;
  for (let page = 0; page < pagesMax; page++) {
    const ended = await ledger.ended(before, pageRows);
    for (const { id, state } of ended) {
      if (state === "PARKED" || state === "UNKNOWN") {
        log("alarm", "call.purged", { call_id: id, state, reason: "retention" });
      }
    }
    await ledger.purge(
      ended.map(({ id }) => id),
      before,
      now,
    );
    if (ended.length < pageRows) return;
  }
}
