import { MessageText } from "#shared/ports/call-messages.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { CallQueue } from "#shared/ports/queue.ts";

/**
 * Maximum deliveries of the events queue in a chain in which each delivery sends a message to the next. Lambda stops
 * a chain after sixteen invocations of a function. Two of these may be deliveries of the call queue before
 * (https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html).
 */
export const chainMax = 6;

/**
 * Creates the events queue to which one delivery of it sends. Its messages continue the longest chain among the
 * delivered ones. At the end of a chain nothing is sent: a sweep finds the work of a hint, and the queue itself
 * retries any other message.
 */
export function createChainedQueue(queue: CallQueue<EventMessage>) {
  let chain = 1;
  const chained: CallQueue<EventMessage> = {
    async send(message, delaySeconds) {
      if (chain >= chainMax) throw new Error("the chain of messages ends here");
      const next = message instanceof MessageText ? message : { ...message, chain };
      await queue.send(next, delaySeconds);
    },
    async sendMany(messages) {
      if (chain >= chainMax) return 0;
      return queue.sendMany(
        messages.map((one) => ({ ...one, message: { ...one.message, chain } })),
      );
    },
  };
  return {
    queue: chained,
    /** Has what is sent from now on follow these messages. */
    follow(messages: readonly EventMessage[]): void {
      chain = 1 + Math.max(0, ...messages.map((message) => message.chain ?? 0));
    },
  };
}
