import type { Call } from "../../shared/call.ts";
import { expiryOf } from "../../shared/dial-plan.ts";
import { errorForLog } from "../../shared/log.ts";
import type { Message } from "../../shared/message.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import type { Delivered, Disposition } from "../../shared/queue/call-queue.ts";
import { type DialerDeps, type ReadyDeps, writeCounts } from "./dialer.ts";
import { openMessage, settleLate } from "./handle-delivery.ts";
import { callsOf } from "./split-batch.ts";

/** Rows written in one go. */
const pageCalls = 500;

/**
 * Handles messages that failed a hundred times. Nothing is dialed: a call that has no row is PARKED for a
 * person, one that has a row looks after itself. What cannot be handled waits for hours at a time, so that
 * 100 attempts fill the queue's 14 days.
 */
export async function handleDeadLetters(
  delivered: Delivered[],
  deps: DialerDeps,
): Promise<Disposition[]> {
  const { settings, log } = deps;
  const dispositions: Disposition[] = [];
  for (const { attempt, open } of delivered) {
    const later: Disposition = { retryAfterSeconds: (attempt < 24 ? 1 : 4) * 3600 };
    const message = await openMessage(open, attempt, deps);
    if (message === undefined || "problem" in settings) {
      dispositions.push(later);
      continue;
    }
    log("alarm", "message.dead", { message_kind: message.kind, attempt });
    try {
      await bury(message, { ...deps, settings: settings.value });
      dispositions.push("acknowledge");
    } catch (error) {
      log("alarm", "ledger.unreachable", { error: errorForLog(error) });
      dispositions.push(later);
    }
  }
  await writeCounts(deps);
  return dispositions;
}

async function bury(message: Message, deps: ReadyDeps): Promise<void> {
  switch (message.kind) {
    case "call":
      return park([message.call], deps);
    case "batch":
      return park(callsOf(message), deps);
    case "outcome":
      return settleLate([message.settlement], deps);
    case "due":
    case "sweep":
      return; // hints: the sweep finds the rows
  }
}

async function park(calls: Call[], deps: ReadyDeps): Promise<void> {
  const { ledger, clock, settings, log } = deps;
  const at = clock.now();
  const reason = "dead_letter";
  const live = calls.filter((call) => at < expiryOf(call, settings.plan));
  // One event a message, not a call: a platform keeps only so much of an invocation's log.
  const say = (event: string, count: number) => {
    if (count > 0) log("alarm", event, { request_id: calls[0]?.requestId ?? "", reason, count });
  };
  say("call.expired", calls.length - live.length);
  let parked = 0;
  for (let start = 0; start < live.length; start += pageCalls) {
    const written = await ledger.defer(
      live.slice(start, start + pageCalls).map((call) => ({
        call,
        ...traceOfNumber(call.request.phone_number, settings.hashKey),
        state: "PARKED",
        reason,
        at,
        seenDueAt: null, // a row that is there looks after itself
      })),
    );
    parked += written.filter(Boolean).length;
  }
  say("call.parked", parked);
}
