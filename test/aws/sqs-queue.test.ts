import { PutObjectCommand } from "@aws-sdk/client-s3";
import { DeleteMessageCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { beforeAll, describe, expect, it } from "vitest";
import type { Delivered } from "#shared/ports/queue.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { Message } from "#shared/ports/call-messages.ts";
import { createS3DeadLetters } from "#shared/aws/s3-stores.ts";
import { createSqsQueue, toSqsDelivery } from "#shared/aws/sqs-queue.ts";
import { describeDeadLetters } from "../contracts/dead-letters.ts";
import { describeCallQueue, describeEventsQueue } from "../contracts/call-queue.ts";
import { aCall, toCallsMessage } from "../support/calls.ts";
import { useAwsEngines } from "./use-engines.ts";

const bucket = "outbound-calls";
const engines = useAwsEngines();
let queues = 0;
beforeAll(() => engines().createBucket(bucket));

async function createQueueUnderTest<Sent>() {
  const { sqs, s3: client, createQueue } = engines();
  const s3 = async () => client;
  const queueUrl = await createQueue(`calls-${++queues}`);
  return {
    queue: createSqsQueue<Sent>({ sqs, queueUrl, s3, bucket }),
    async take() {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl: queueUrl, MaxNumberOfMessages: 10 }),
      );
      for (const { ReceiptHandle } of Messages) {
        await sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
      }
      return Messages.map(({ MessageId: messageId = "", Body: body = "" }): Delivered => {
        const attributes = { ApproximateReceiveCount: "1" };
        return toSqsDelivery({ messageId, body, attributes }, s3, bucket);
      });
    },
  };
}

describeCallQueue("SQS with S3", () => createQueueUnderTest<Message>());
describeEventsQueue("SQS with S3", () => createQueueUnderTest<EventMessage>());

describe("SQS with S3, where a part of a batch fails", () => {
  it("says how many from the front were taken, though SQS answers 200", async () => {
    const queueUrl = await engines().createQueue(`calls-${++queues}`, {
      MaximumMessageSize: "2000",
    });
    const { sqs } = engines();
    const queue = createSqsQueue({ sqs, queueUrl, s3: async () => engines().s3, bucket });
    const messages = Array.from({ length: 25 }, (_, n) => {
      return { message: toCallsMessage([aCall({ client: "c".repeat(n === 13 ? 3000 : 10) })]) };
    });
    expect(await queue.sendMany(messages)).toBe(13);
    expect(await queue.sendMany(messages.slice(14))).toBe(11);
  });

  it("sends nothing where the queue is gone", async () => {
    const queueUrl = `${engines().endpoint}/000000000000/none`;
    const { sqs } = engines();
    const queue = createSqsQueue({ sqs, queueUrl, s3: async () => engines().s3, bucket });
    const message = toCallsMessage([aCall()]);
    expect(await queue.sendMany([{ message }])).toBe(0);
    await expect(queue.send(message)).rejects.toThrow();
  });
});

describeDeadLetters(
  "S3",
  () => createS3DeadLetters(async () => engines().s3, bucket),
  (key, text) => engines().s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: text })),
);
