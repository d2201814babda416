import { errorForLog } from "../../../shared/lib/log.ts";
import type { AckOrRetry, Delivered } from "../../../shared/ports/queue.ts";
import { eventMessageSchema, isHint } from "../../../shared/ports/event-messages.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { storeOrRetry } from "./consume-dead-letters.ts";
import { openMessage } from "./open-message.ts";
import { followCallback } from "../results/handle-callback.ts";
import { withPortLimits } from "../runtime/time-limits.ts";

/**
 * Handles messages of the events queue that failed a hundred times. Hints are dropped, as sweeps do the same without them.
 * A signed callback is the only word of its call's end, and of an opt-out: it is followed once more, and handed back or
 * stored whole where that fails, as a call's message is. Never throws.
 *
 * @param deps without settings, signed callbacks are handed back or stored
 */
export async function consumeDeadEvents(
  delivered: readonly Delivered[],
  deps: DialerDeps | Pick<DialerDeps, "deadLetters" | "log">,
): Promise<AckOrRetry[]> {
  const { log } = deps;
  let hints = 0;
  const answers = await Promise.all(
    delivered.map(async (one): Promise<AckOrRetry> => {
      const { attempt } = one;
      const message = await openMessage(one, eventMessageSchema, deps);
      if (message !== undefined && isHint(message)) {
        hints += 1;
        return "ack";
      }
      if (message?.kind === "callback") {
        const { kind: message_kind, account: provider, call } = message;
        const ofCall = call === undefined ? {} : { call_id: call.id };
        log("alarm", "message.dead_lettered", { message_kind, provider, attempt, ...ofCall });
        try {
          const isDone =
            "settings" in deps &&
            (await followCallback(message, attempt, withPortLimits(deps))) === "ack";
          if (isDone) return "ack";
        } catch (error) {
          log("alarm", "ledger.unreachable", { error: errorForLog(error) });
        }
      }
      return storeOrRetry(one, deps);
    }),
  );
  if (hints > 0) log("warning", "events.dead_lettered", { count: hints });
  return answers;
}
