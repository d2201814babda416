import type { CallQueue, Delivered } from "../../shared/queue/call-queue.ts";
import { jsonOf } from "../../shared/queue/message-text.ts";
import type { Message } from "../../shared/queue/messages.ts";

/** A queue in this process's memory, from which the test takes the sent messages. */
export interface MemoryQueue<Sent = Message> extends CallQueue<Sent> {
  /** Removes and returns every message whose delay has passed, as deliveries. */
  take(): Delivered[];
}

/** @param now clock that delays are measured by, in milliseconds */
export function createMemoryQueue<Sent = Message>(now: () => number): MemoryQueue<Sent> {
  let waiting: { json: string; visibleAt: number }[] = [];
  let taken = 0;
  const queue: MemoryQueue<Sent> = {
    async send(message, delaySeconds = 0) {
      waiting.push({ json: jsonOf(message), visibleAt: now() + delaySeconds * 1000 });
    },
    async sendMany(messages) {
      for (const { message, delaySeconds } of messages) await queue.send(message, delaySeconds);
      return messages.length;
    },
    take() {
      const visible = waiting.filter(({ visibleAt }) => visibleAt <= now());
      waiting = waiting.filter(({ visibleAt }) => visibleAt > now());
      return visible.map(({ json }) => ({
        attempt: 1,
        id: `message-${++taken}`,
        large: false,
        open: async () => json,
      }));
    },
  };
  return queue;
}
