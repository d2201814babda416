import type { AckOrRetry, CallQueue, Delivered } from "#shared/ports/queue.ts";
import { toJson, type Message } from "#shared/ports/call-messages.ts";

/** A queue in this process's memory, from which the test takes the sent messages. */
export interface MemoryQueue<Sent = Message> extends CallQueue<Sent> {
  /** Removes and returns every message whose delay has passed, as deliveries; at most `limit`. */
  take(limit?: number): Delivered[];
  /** Puts a delivery back that was not acknowledged. */
  putBack(delivered: Delivered, answer: Exclude<AckOrRetry, "ack">): void;
  /** Time at which the next message is visible; Infinity if there is none. */
  nextAt(): number;
}

/** @param now clock that delays are measured by, in milliseconds */
export function createMemoryQueue<Sent = Message>(now: () => number): MemoryQueue<Sent> {
  let waiting: { json: string; attempt: number; visibleAt: number }[] = [];
  let taken = 0;
  const bodies = new WeakMap<Delivered, string>();
  const queue: MemoryQueue<Sent> = {
    async send(message, delaySeconds = 0) {
      waiting.push({ json: toJson(message), attempt: 1, visibleAt: now() + delaySeconds * 1000 });
    },
    async sendMany(messages) {
      for (const { message, delaySeconds } of messages) await queue.send(message, delaySeconds);
      return messages.length;
    },
    take(limit = Infinity) {
      const visible = waiting.filter(({ visibleAt }) => visibleAt <= now()).slice(0, limit);
      waiting = waiting.filter((one) => !visible.includes(one));
      return visible.map(({ json, attempt }) => {
        const id = `message-${++taken}`;
        const delivered = { attempt, id, open: async () => json };
        bodies.set(delivered, json);
        return delivered;
      });
    },
    putBack(delivered, { retryAfterSeconds }) {
      const json = bodies.get(delivered);
      if (json === undefined) throw new Error("it was not taken from this queue");
      const visibleAt = now() + retryAfterSeconds * 1000;
      waiting.push({ json, attempt: delivered.attempt + 1, visibleAt });
    },
    nextAt: () => Math.min(...waiting.map(({ visibleAt }) => visibleAt)),
  };
  return queue;
}
