import type { Call } from "../../shared/call.ts";
import { errorForLog } from "../../shared/log.ts";
import type { Message } from "../../shared/message.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import type { Delivered, Disposition } from "../../shared/queue/call-queue.ts";
import { expiryOf } from "./decide.ts";
import { logDecision } from "./dial-calls.ts";
import type { DialerDeps, ReadyDeps } from "./dialer.ts";
import { openMessage } from "./handle-delivery.ts";
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
  return dispositions;
}

async function bury(message: Message, deps: ReadyDeps): Promise<void> {
  switch (message.kind) {
    case "call":
      return park([message.call], deps);
    case "batch":
      return park(callsOf(message), deps);
    case "outcome":
      await deps.ledger.settle([message.settlement]);
      return;
    case "due":
    case "sweep":
      return; // hints: the sweep finds the rows
  }
}

async function park(calls: Call[], deps: ReadyDeps): Promise<void> {
  const { ledger, clock, settings } = deps;
  const at = clock.now();
  const live: Call[] = [];
  for (const call of calls) {
    if (at < expiryOf(call, settings.plan)) live.push(call);
    else logDecision(deps, call, "EXPIRED", { reason: "dead_letter" });
  }
  for (let start = 0; start < live.length; start += pageCalls) {
    const page = live.slice(start, start + pageCalls);
    const written = await ledger.defer(
      page.map((call) => ({
        call,
        ...traceOfNumber(call.request.phone_number, settings.hashKey),
        state: "PARKED",
        reason: "dead_letter",
        at,
        onlyIfAbsent: true,
      })),
    );
    for (const [index, call] of page.entries()) {
      if (written[index] === true) logDecision(deps, call, "PARKED", { reason: "dead_letter" });
    }
  }
}
