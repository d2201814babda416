import { createMemoryQueue } from "../support/memory-queue.ts";
import { describeCallQueue } from "../contracts/call-queue.ts";

describeCallQueue("memory", () => {
  const queue = createMemoryQueue(Date.now);
  return { queue, take: queue.take };
});
