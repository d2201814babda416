import { afterEach, describe, expect, it } from "vitest";
import { storeDeadLetters } from "#functions/api/actions/store-dead-letters.ts";
import {
  answerBatch,
  createCloudflareQueue,
  readOldestSentAt,
  toCloudflareDelivery,
} from "#shared/cloudflare/queue.ts";
import { createR2DeadLetters } from "#shared/cloudflare/r2-stores.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { describeCallQueue, describeEventsQueue } from "../contracts/call-queue.ts";
import { describeDeadLetters } from "../contracts/dead-letters.ts";
import { aCall, toCallsMessage } from "../support/calls.ts";
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

describe("the age of Cloudflare Queues", () => {
  it("is that of the oldest message; without one, or without figures, it is unknown", async () => {
    expect(await readOldestSentAt(testEnv.IDLE)).toBeUndefined();
    const before = Date.now();
    await testEnv.IDLE.send("one");
    await testEnv.IDLE.send("two");
    const sentAt = await readOldestSentAt(testEnv.IDLE);
    expect(sentAt).toBeGreaterThanOrEqual(before);
    expect(sentAt).toBeLessThanOrEqual(Date.now());
    const refusing = { ...testEnv.CALLS, metrics: () => Promise.reject(new Error("refused")) };
    expect(await readOldestSentAt(refusing)).toBeUndefined();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a runtime without `metrics`
    expect(await readOldestSentAt({} as Queue)).toBeUndefined();
  });
});

describeDeadLetters(
  "R2",
  () => createR2DeadLetters(testEnv.ENVELOPES),
  (key, text) => testEnv.ENVELOPES.put(key, text),
);

describe("dead letters that the API keeps", () => {
  const letters = createR2DeadLetters(testEnv.ENVELOPES);
  const list = async () => (await letters.list({ limit: 100 })).letters;
  afterEach(async () => {
    for (const { name } of await list()) await letters.remove(name);
  });

  /** Delivers messages of a dead-letter queue to the API. */
  async function keep(queue: string, bodies: readonly string[], bucket = testEnv.ENVELOPES) {
    const answers: string[] = [];
    const logged: string[] = [];
    const messages = bodies.map((body, index) => ({
      id: `dead-${index}`,
      timestamp: new Date(),
      body,
      attempts: 1,
      ack: () => void answers.push("ack"),
      retry: ({ delaySeconds = 0 } = {}) => void answers.push(`after ${delaySeconds} s`),
    }));
    const log = (level: string, event: string) => void logged.push(`${level} ${event}`);
    const dead = messages.map((message) => ({
      ...toCloudflareDelivery(message, testEnv.ENVELOPES),
      envelope: message.body,
    }));
    const deadLetters = createR2DeadLetters(bucket);
    answerBatch(messages, await storeDeadLetters(queue, dead, { deadLetters, log }));
    return { answers, logged };
  }
  const kept = async () =>
    Promise.all(
      (await list()).map(async ({ name }) => [name, (await letters.read(name))?.body] as const),
    );

  it("are whole, by their queue", async () => {
    const { answers, logged } = await keep("outbound-calls-dead", ["one", "two"]);
    expect(answers).toEqual(["ack", "ack"]);
    expect(logged).toEqual(["alarm message.stored"]);
    await keep("staging-events-dead", ["three"]);
    expect(await kept()).toEqual([
      ["calls-dead-0", "one"],
      ["calls-dead-1", "two"],
      ["events-dead-0", "three"],
    ]);
  });

  it("have the body that was sent beside its message", async () => {
    await testEnv.ENVELOPES.put("messages/large", "the body");
    await keep("outbound-calls-dead", ['{"kind":"claim_check","key":"messages/large"}']);
    expect(await kept()).toEqual([["calls-dead-0", "the body"]]);
  });

  it("are kept as they came where that body is missing, and fetched later", async () => {
    const claimCheck = '{"kind":"claim_check","key":"messages/late"}';
    await keep("outbound-calls-dead", [claimCheck]);
    expect(await kept()).toEqual([["calls-dead-0", claimCheck]]);
    await testEnv.ENVELOPES.put("messages/late", "the body");
    expect(await kept()).toEqual([["calls-dead-0", "the body"]]);
  });

  it("are delivered again after 15 min if the bucket does not store them", async () => {
    const bucket = { ...testEnv.ENVELOPES, put: () => Promise.reject(new Error("R2 is down")) };
    const { answers, logged } = await keep("outbound-calls-dead", ["one"], bucket);
    expect(answers).toEqual(["after 900 s"]);
    expect(logged).toEqual(["alarm store.unreachable"]);
  });
});
