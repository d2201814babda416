import { DeleteMessageCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AwsEngines, startAwsEngines } from "../../infra/local/aws-engines.ts";
import type { Delivered } from "../../shared/queue/call-queue.ts";
import { createSqsQueue, deliveredBySqs } from "../../shared/queue/sqs-queue.ts";
import { describeCallQueue } from "../contracts/call-queue.ts";
import { aCall } from "../support/calls.ts";

const bucket = "outbound-calls";
let engines: AwsEngines;
let queues = 0;
beforeAll(async () => {
  engines = await startAwsEngines();
  await engines.createBucket(bucket);
});
afterAll(() => engines.stop());

describeCallQueue("SQS with S3", async () => {
  const { sqs } = engines;
  const s3 = async () => engines.s3;
  const queueUrl = await engines.createQueue(`calls-${++queues}`);
  return {
    queue: createSqsQueue({ sqs, queueUrl, s3, bucket }),
    async take() {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl: queueUrl, MaxNumberOfMessages: 10 }),
      );
      for (const { ReceiptHandle } of Messages) {
        await sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
      }
      return Messages.map(({ Body = "" }): Delivered =>
        deliveredBySqs({ body: Body, attributes: { ApproximateReceiveCount: "1" } }, s3, bucket),
      );
    },
  };
});

describe("SQS with S3, where a part of a batch fails", () => {
  it("says how many from the front were taken, though SQS answers 200", async () => {
    const queueUrl = await engines.createQueue(`calls-${++queues}`, { MaximumMessageSize: "2000" });
    const { sqs } = engines;
    const queue = createSqsQueue({ sqs, queueUrl, s3: async () => engines.s3, bucket });
    const messages = Array.from({ length: 25 }, (_, n) => {
      const call = aCall({ requestId: "r".repeat(n === 13 ? 3000 : 10) });
      return { message: { kind: "call", call } as const };
    });
    expect(await queue.sendMany(messages)).toBe(13);
    expect(await queue.sendMany(messages.slice(14))).toBe(11);
  });

  it("sends nothing where the queue is gone", async () => {
    const queueUrl = `${engines.endpoint}/000000000000/none`;
    const { sqs } = engines;
    const queue = createSqsQueue({ sqs, queueUrl, s3: async () => engines.s3, bucket });
    const message = { kind: "call", call: aCall() } as const;
    expect(await queue.sendMany([{ message }])).toBe(0);
    await expect(queue.send(message)).rejects.toThrow();
  });
});
