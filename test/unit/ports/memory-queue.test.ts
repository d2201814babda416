import { createMemoryQueue } from "#test/support/memory-queue.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { describeCallQueue, describeEventsQueue } from "#test/contracts/call-queue.ts";

describeCallQueue("memory", () => {
  const queue = createMemoryQueue(Date.now);
  return { queue, take: queue.take };
});

describeEventsQueue("memory", () => {
  const queue = createMemoryQueue<EventMessage>(Date.now);
  return { queue, take: queue.take };
});
