import { randomUUID } from "node:crypto";
import type { S3Client } from "@aws-sdk/client-s3";
import { SendMessageBatchCommand, SendMessageCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { withTimeLimit } from "../lib/retry.ts";
import * as z from "../lib/zod.ts";
import type { CallQueue, Delivered } from "../ports/queue.ts";
import { toJson, type Message } from "../ports/call-messages.ts";

/**
 * Maximum size of a body that is sent directly. SQS takes 1 MiB, but gives Lambda ten messages in one payload of 6
 * MB. A larger body goes into S3, and the message has its key (the claim check pattern). Only the bucket's lifecycle
 * rule deletes the object, after the retention of queue and dead-letter queue together.
 */
const bodyBytesMax = 200_000;
/** Limits of one SendMessageBatch: SQS takes 10 messages and 1 MiB. */
const batchMessagesMax = 10;
const batchBytesMax = 1_000_000;
/** Maximum batches under way at once. */
const batchesAtOnce = 10;

/** Time limit for reading an object's body; the clients' own time limits are in platform.ts. */
const storeSecondsMax = 15;

const claimCheckStart = '{"kind":"claim_check"';
const claimCheckSchema = z.strictObject({ kind: z.literal("claim_check"), key: z.string() });

export interface SqsQueueOptions {
  sqs: SQSClient;
  queueUrl: string;
  /** Creates the client when the first large message is sent, as a single call never needs it. */
  s3: () => Promise<S3Client>;
  bucket: string;
}

/** Creates the call queue, or the events queue, on SQS, with S3 for large messages. */
export function createSqsQueue<Sent = Message>({
  sqs,
  queueUrl,
  s3,
  bucket,
}: SqsQueueOptions): CallQueue<Sent> {
  async function bodyOf(message: unknown): Promise<string> {
    const json = asciiJson(message);
    if (json.length <= bodyBytesMax) return json;
    const { PutObjectCommand } = await import("@aws-sdk/client-s3");
    const key = `messages/${randomUUID()}`;
    const client = await s3();
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: json }));
    return JSON.stringify({ kind: "claim_check", key });
  }

  /** Resolves to the number of messages from the front that were taken: SQS answers 200 with a list of failures. */
  async function sendBatch(bodies: Entry[]): Promise<number> {
    const { Failed = [] } = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: queueUrl,
        Entries: bodies.map(({ body, delaySeconds }, index) => ({
          Id: String(index),
          MessageBody: body,
          DelaySeconds: delaySeconds,
        })),
      }),
    );
    return Math.min(bodies.length, ...Failed.map(({ Id }) => Number(Id)));
  }

  return {
    async send(message, delaySeconds = 0) {
      const MessageBody = await bodyOf(message);
      await sqs.send(
        new SendMessageCommand({ QueueUrl: queueUrl, MessageBody, DelaySeconds: delaySeconds }),
      );
    },
    async sendMany(messages) {
      const batches = createBatches(sendBatch);
      try {
        for (const { message, delaySeconds = 0 } of messages) {
          if (!(await batches.add({ body: await bodyOf(message), delaySeconds }))) {
            return batches.sent();
          }
        }
        await batches.flush();
      } catch {
        // S3 did not take a large body. The caller sends the rest again.
      }
      return batches.sent();
    },
  };
}

/** A message as SQS takes it. */
interface Entry {
  body: string;
  delaySeconds: number;
}

/** Collects messages into batches, several of which are sent at once, in order. */
function createBatches(sendBatch: (batch: Entry[]) => Promise<number>) {
  let sent = 0;
  let wave: Entry[][] = [];
  let batch: Entry[] = [];
  let bytes = 0;
  const endBatch = () => {
    if (batch.length > 0) wave.push(batch);
    batch = [];
    bytes = 0;
  };
  /** Sends the batches that are full. Resolves to false if not all messages were taken. */
  const sendWave = async (): Promise<boolean> => {
    const batches = wave;
    wave = [];
    const taken = await Promise.all(batches.map((one) => sendBatch(one).catch(() => 0)));
    for (const [index, one] of batches.entries()) {
      sent += taken[index] ?? 0;
      if (taken[index] !== one.length) return false;
    }
    return true;
  };
  return {
    /** Adds a message. Resolves to false if an earlier one was not taken. Then nothing more may be sent. */
    async add(entry: Entry): Promise<boolean> {
      const isFull = batch.length === batchMessagesMax || bytes + entry.body.length > batchBytesMax;
      if (isFull) endBatch();
      if (wave.length === batchesAtOnce && !(await sendWave())) return false;
      batch.push(entry);
      bytes += entry.body.length;
      return true;
    },
    /** Sends the rest. */
    async flush(): Promise<void> {
      endBatch();
      await sendWave();
    },
    /** Returns the number of messages from the front that were taken. */
    sent: () => sent,
  };
}

/** The bucket with the bodies that are too large for a message. */
interface Bucket {
  s3: () => Promise<S3Client>;
  bucket: string;
}

/** Wraps a record of a Lambda's SQS event. Its body is fetched from S3 on `open`. */
export function toSqsDelivery(
  record: { messageId: string; body: string; attributes: { ApproximateReceiveCount: string } },
  s3: () => Promise<S3Client>,
  bucket: string,
): Delivered {
  return {
    attempt: Number(record.attributes.ApproximateReceiveCount),
    id: record.messageId,
    open: () => openBody(record.body, { s3, bucket }),
  };
}

/** Resolves to the message of a body, which may name an object with it. @throws if that cannot be fetched */
export async function openBody(body: string, { s3, bucket }: Bucket): Promise<string> {
  if (!body.startsWith(claimCheckStart)) return body;
  const { key } = claimCheckSchema.parse(JSON.parse(body));
  const { GetObjectCommand } = await import("@aws-sdk/client-s3");
  const client = await s3();
  const object = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
  const text = await withTimeLimit(
    object.Body?.transformToString() ?? Promise.resolve(""),
    storeSecondsMax,
  );
  if (text === "") throw new Error("the object of a claim check is empty");
  return text;
}

/**
 * Returns JSON in ASCII, as SQS refuses some Unicode characters (U+FFFE, U+FFFF). Line ends and tabs stay: a client's
 * body may have them between values, where an escape would be no JSON.
 */
function asciiJson(message: unknown): string {
  return toJson(message).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
