import type { AckOrRetry, Delivered } from "../../../shared/queue/call-queue.ts";
import { type EventMessage, eventMessageSchema } from "../../../shared/queue/event-messages.ts";
import type { DialerDeps } from "../context.ts";
import { openMessage } from "../open-message.ts";
import { retryLater } from "../retry.ts";
import { withPortLimits } from "../wiring.ts";

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
  const answers: AckOrRetry[] = [];
  for (const { attempt, open } of delivered) {
    const message = await openMessage(eventMessageSchema, open, attempt, ready);
    answers.push(
      message === undefined
        ? retryLater(attempt)
        : await askAbout(message, attempt, ready, deadline),
    );
  }
  return answers;
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

/** Acknowledges the message. Nothing asks for results yet. */
async function askAbout(
  { kind }: EventMessage,
  attempt: number,
  { log }: DialerDeps,
  _deadline: number,
): Promise<AckOrRetry> {
  log("warning", "events.unknown", { message_kind: kind, attempt });
  return "ack";
}
