import type { AckOrRetry, Delivered } from "../../../shared/queue/call-queue.ts";
import { type EventMessage, eventMessageSchema } from "../../../shared/queue/event-messages.ts";
import { errorForLog } from "../../../shared/platform/log.ts";
import type { DialerDeps } from "../context.ts";
import { openMessage } from "../open-message.ts";
import { retryLater } from "../retry.ts";
import { withPortLimits } from "../wiring.ts";
import { askAccount } from "./ask.ts";
import { followCallback } from "./callback.ts";

/**
 * Handles one delivery of the events queue and decides whether each message is acknowledged or retried. Never
 * throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function handleEvents(
  delivered: readonly Delivered[],
  deps: DialerDeps,
  deadline: number,
): Promise<AckOrRetry[]> {
  const ready = withPortLimits(deps);
  // Side by side, so that an account that hangs keeps no other waiting.
  return Promise.all(
    delivered.map(async ({ attempt, open }) => {
      const message = await openMessage(eventMessageSchema, open, attempt, ready);
      if (message === undefined) return retryLater(attempt);
      return follow(message, attempt, ready, deadline);
    }),
  );
}

/**
 * Acknowledges events that failed each time. They are hints: the ledger's row says that the call's result is open,
 * and the sweep asks for it again.
 */
export function acknowledgeDeadEvents(
  delivered: readonly Delivered[],
  { log }: Pick<DialerDeps, "log">,
): AckOrRetry[] {
  log("warning", "events.dead", { count: delivered.length });
  return delivered.map(() => "ack");
}

async function follow(
  message: EventMessage,
  attempt: number,
  deps: DialerDeps,
  deadline: number,
): Promise<AckOrRetry> {
  try {
    await (message.kind === "ask"
      ? askAccount(message.account, deps, deadline)
      : followCallback(message, deps));
    return "ack";
  } catch (error) {
    deps.log("warning", "events.failed", {
      message_kind: message.kind,
      attempt,
      error: errorForLog(error),
    });
    return retryLater(attempt);
  }
}
