import { MessageText } from "#shared/ports/call-messages.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { CallQueue } from "#shared/ports/queue.ts";

/**
 * Maximum deliveries of the events queue in a chain, of which each sends a message to the next. Lambda stops a chain after
 * sixteen invocations of a function, of which two of the call queue may come before
 * (https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html).
 */
export const chainMax = 6;

/**
 * Creates the events queue as one delivery of it sends to: its messages continue the longest chain among those that were
 * delivered. At the end of a chain nothing is sent: what a hint tells, a sweep finds, and what is no hint is retried by the
 * queue itself.
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
