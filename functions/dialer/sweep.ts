import type { DuePlace, DueRow } from "../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../shared/log.ts";
import { isIdempotent } from "../../shared/ledger/state-machine.ts";
import { delaySecondsMax } from "../../shared/queue/call-queue.ts";
import type { Message } from "../../shared/message.ts";
import { slotReason } from "./decide.ts";
import type { ReadyDeps } from "./dialer.ts";
import { serveLine } from "./pace.ts";
import { remind } from "./write-decisions.ts";

type SweepMessage = Extract<Message, { kind: "sweep" }>;

const pageRows = 500;
/** Pages of one message; the rest goes into a message of its own. */
const pagesMax = 10;

/**
 * The clock's minute: reminds of every row due within the horizon, at its second; turns claims past their
 * deadline into UNKNOWN; gives slots to those who wait for an account's pace. Failing, it waits for the next
 * minute: nothing hangs on a single sweep.
 */
export async function sweep({ after, restarted }: SweepMessage, deps: ReadyDeps): Promise<void> {
  const { queue, log } = deps;
  const attempt = (work: () => Promise<void>) =>
    work().catch((error: unknown) => log("alarm", "sweep.failed", { error: errorForLog(error) }));
  await attempt(async () => {
    const rest = await remindOfDue(after, restarted === true, deps);
    const more = restarted === undefined ? {} : { restarted };
    if (rest !== undefined) await queue.send({ kind: "sweep", after: rest, ...more });
  });
  if (after !== undefined) return;
  await attempt(() => serveLines(deps));
  await attempt(() => purge(deps));
}

async function serveLines(deps: ReadyDeps): Promise<void> {
  const lines = await deps.ledger.lines();
  if (lines.length === 0) return;
  const holds = await deps.ledger.holds();
  for (const line of lines) await serveLine(line, holds, deps);
}

/**
 * Whether a sweep reminds of a row: ahead of its time, unless a message was sent when it was given its slot; and
 * when that has passed without effect, ever more rarely. Whatever keeps the messages from being handled, a long
 * outage or a long queue, must not be fed with more of them.
 */
export function isReminded(
  { dueAt, reason }: Pick<DueRow, "dueAt" | "reason">,
  now: number,
  sweepMs: number,
): boolean {
  const periods = Math.floor((now - dueAt) / sweepMs);
  if (periods < 0) return reason !== slotReason;
  return [1, 4, 16].includes(periods) || (periods > 0 && periods % 64 === 0);
}

/**
 * Answers with the place to go on from, where there is more than one message's work.
 *
 * @param all whether every row is reminded of that is due
 */
async function remindOfDue(
  from: DuePlace | undefined,
  all: boolean,
  deps: ReadyDeps,
): Promise<DuePlace | undefined> {
  const { ledger, queue, clock, settings, log } = deps;
  const sweepMs = settings.sweepSeconds * 1000;
  let after = from;
  for (let page = 0; page < pagesMax; page++) {
    const now = clock.now();
    const rows = await ledger.due({ until: now + 2 * sweepMs, after, limit: pageRows });
    const lapsed = rows.filter(({ state, dueAt }) => state === "DIALING" && dueAt <= now);
    const waiting = rows.filter(
      (row) => row.state !== "DIALING" && (all || isReminded(row, now, sweepMs)),
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
      const reached = waiting[sent - 1];
      return reached === undefined ? after : { dueAt: reached.dueAt, id: reached.id };
    }
    const last = rows.at(-1);
    if (rows.length < pageRows || last === undefined) return undefined;
    after = { dueAt: last.dueAt, id: last.id };
  }
  return after;
}

/** Claims whose holder has not settled in time: it may have dialed. */
async function lapse(rows: DueRow[], now: number, deps: ReadyDeps): Promise<void> {
  const { ledger, settings, log } = deps;
  if (rows.length === 0) return;
  const parkAt = now + settings.plan.parkAfterSeconds * 1000;
  const settled = await ledger.settle(
    rows.map(({ id, token, route }) => ({
      id,
      token: token ?? "",
      state: "UNKNOWN",
      reason: "claim_lapsed",
      dueAt: isIdempotent(route) ? now : parkAt,
      at: now,
    })),
  );
  const unknown = rows.filter((_, index) => settled[index]);
  for (const { id, requestId, agentId, attempt } of unknown) {
    log("warning", "call.unknown", {
      call_id: id,
      request_id: requestId,
      agent_id: agentId,
      state: "UNKNOWN",
      reason: "claim_lapsed",
      attempt,
    });
  }
  const again = unknown.filter(({ route }) => isIdempotent(route));
  await remind(
    again.map(({ id, reason }) => ({ id, reason, dueAt: now })),
    deps,
  );
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
