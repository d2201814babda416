import * as fc from "fast-check";
import { expect, it } from "vitest";
import { chainMax, createChainedQueue } from "#functions/dialer/consume/chained-queue.ts";
import { MessageText } from "#shared/ports/call-messages.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { CallQueue } from "#shared/ports/queue.ts";

const fresh: EventMessage = { kind: "poll", account: "twilio", sentAt: 0 };

/** A message that waits, and how many deliveries of its chain came before. */
interface Waiting {
  message: EventMessage;
  deliveries: number;
}

/** One delivery: how many messages it takes, how many it sends one by one, and how many at once. */
const step = fc.record({
  takes: fc.integer({ min: 1, max: 10 }),
  sends: fc.integer({ min: 0, max: 3 }),
  sendsMany: fc.integer({ min: 0, max: 3 }),
  comes: fc.boolean(),
});

it("ends every chain of deliveries, whatever they send and whichever messages they take together", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
      let waiting: Waiting[] = [{ message: fresh, deliveries: 0 }];
      for (const { takes, sends, sendsMany, comes } of steps) {
        if (comes || waiting.length === 0) waiting.push({ message: fresh, deliveries: 0 });
        // The longest chains are taken first.
        waiting = waiting.toSorted((one, other) => other.deliveries - one.deliveries);
        const taken = waiting.splice(0, takes);
        const deliveries = 1 + Math.max(...taken.map((one) => one.deliveries));
        expect(deliveries).toBeLessThanOrEqual(chainMax);
        const put = (message: EventMessage) => void waiting.push({ message, deliveries });
        const queue: CallQueue<EventMessage> = {
          async send(message) {
            if (!(message instanceof MessageText)) put(message);
          },
          async sendMany(messages) {
            for (const { message } of messages) put(message);
            return messages.length;
          },
        };
        const chained = createChainedQueue(queue);
        chained.follow(taken.map(({ message }) => message));
        const isEnd = deliveries === chainMax;
        for (let n = 0; n < sends; n++) {
          const sent = chained.queue.send(fresh).then(
            () => true,
            () => false,
          );
          expect(await sent).toBe(!isEnd);
        }
        const many = Array.from({ length: sendsMany }, () => ({ message: fresh }));
        expect(await chained.queue.sendMany(many)).toBe(isEnd ? 0 : sendsMany);
      }
    }),
  );
});
