import { errorForLog } from "#shared/lib/log.ts";
import type { Delivered } from "#shared/ports/queue.ts";
import { eventMessageSchema, isHint } from "#shared/ports/event-messages.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { Handled } from "./handle-dead-letter.ts";
import { openMessage } from "./open-message.ts";
import { followCallback } from "../results/handle-callback.ts";

/**
 * Handles a message of the events queue that failed a hundred times. A hint is dropped, as sweeps do the same work without it. A signed
 * callback is the only source of its call's result or opt-out, so it is tried again. Never throws.
 */
export async function handleDeadEvent(one: Delivered, deps: DialerDeps): Promise<Handled> {
  const { log } = deps;
  const { attempt } = one;
  const message = await openMessage(one, eventMessageSchema, deps);
  if (message === undefined) return "unreadable";
  if (isHint(message) || message.kind !== "callback") {
    log("warning", "events.dead_lettered", { message_kind: message.kind });
    return "done";
  }
  const { kind: message_kind, account, call } = message;
  const ofCall = call === undefined ? {} : { call_id: call.id };
  log("alarm", "message.dead_lettered", { message_kind, account, attempt, ...ofCall });
  try {
    const answer = await followCallback(message, attempt, deps);
    return answer === "ack" ? "done" : "failed";
  } catch (error) {
    log("alarm", "ledger.unreachable", { error: errorForLog(error) });
    return "failed";
  }
}
