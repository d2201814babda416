import { describe, expect, it } from "vitest";
import {
  createCloudflareDeadLetters,
  createCloudflareQueue,
} from "../../shared/cloudflare/queue.ts";
import type { EventMessage } from "../../shared/ports/event-messages.ts";
import { toCallsMessage } from "../../shared/ports/call-messages.ts";
import { describeCallQueue, describeEventsQueue } from "../contracts/call-queue.ts";
import { aCall } from "../support/calls.ts";
import { testEnv } from "./env.ts";
import { delivered, deliveredEvents } from "./worker.ts";

describeCallQueue("Cloudflare Queues with R2", () => ({
  queue: createCloudflareQueue(testEnv.CALLS, testEnv.ENVELOPES),
  take: () => delivered.splice(0),
}));

describeEventsQueue("Cloudflare Queues with R2", () => ({
  queue: createCloudflareQueue<EventMessage>(testEnv.EVENTS, testEnv.ENVELOPES),
  take: () => deliveredEvents.splice(0),
}));

describe("Cloudflare Queues with R2, throttled", () => {
  it("says how many from the front were sent, and throws nothing", async () => {
    let batches = 0;
    const throttled: Queue = {
      ...testEnv.CALLS,
      async sendBatch(messages) {
        batches += 1;
        if (batches > 2) throw new Error("Too Many Requests");
        return testEnv.CALLS.sendBatch(messages);
      },
    };
    const queue = createCloudflareQueue(throttled, testEnv.ENVELOPES);
    const message = toCallsMessage([aCall()]);
    const messages = Array.from({ length: 350 }, () => ({ message }));
    expect(await queue.sendMany(messages)).toBe(200);
  });
});

describe("dead letters in R2", () => {
  it("keep a message whole, under its id", async () => {
    await createCloudflareDeadLetters(testEnv.ENVELOPES).store("message-1", '{"kind":"odd"}');
    const object = await testEnv.ENVELOPES.get("dead-letters/message-1");
    expect(await object?.text()).toBe('{"kind":"odd"}');
  });
});
