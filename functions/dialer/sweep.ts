import type { DuePlace, DueRow } from "../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../shared/log.ts";
import { isIdempotent } from "../../shared/ledger/state-machine.ts";
import { delaySecondsMax } from "../../shared/queue/call-queue.ts";
import type { ReadyDeps } from "./dialer.ts";

const pageRows = 500;
/** Pages of one message; the rest goes into a message of its own. */
const pagesMax = 10;

/**
 * The clock's minute: reminds of every row due within the horizon, at its second, and turns claims past their
 * deadline into UNKNOWN. Failing, it waits for the next minute: nothing hangs on a single sweep.
 *
 * @param after where the sweep that sent this message stopped
 */
export async function sweep(after: DuePlace | undefined, deps: ReadyDeps): Promise<void> {
  const { queue, log } = deps;
  try {
    const rest = await remindOfDue(after, deps);
    if (rest !== undefined) await queue.send({ kind: "sweep", after: rest });
    if (after === undefined) await purge(deps);
  } catch (error) {
    log("alarm", "sweep.failed", { error: errorForLog(error) });
  }
}

/** Answers with the place to go on from, where there is more than one message's work. */
async function remindOfDue(
  from: DuePlace | undefined,
  deps: ReadyDeps,
): Promise<DuePlace | undefined> {
  const { ledger, queue, clock, log } = deps;
  let after = from;
  for (let page = 0; page < pagesMax; page++) {
    const now = clock.now();
    const until = now + 2 * deps.settings.sweepSeconds * 1000;
    const rows = await ledger.due({ until, after, limit: pageRows });
    const lapsed = rows.filter(({ state, dueAt }) => state === "DIALING" && dueAt <= now);
    const waiting = rows.filter(({ state }) => state !== "DIALING");
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
  for (const { id, requestId, agentId, attempt } of rows.filter((_, index) => settled[index])) {
    log("warning", "call.unknown", {
      call_id: id,
      request_id: requestId,
      agent_id: agentId,
      state: "UNKNOWN",
      reason: "claim_lapsed",
      attempt,
    });
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
