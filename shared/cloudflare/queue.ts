import { withTimeLimit } from "../lib/retry.ts";
import * as z from "../lib/zod.ts";
import type { AckOrRetry, CallQueue, Delivered } from "../ports/queue.ts";
import { toJson, type Message as CallMessage } from "../ports/call-messages.ts";

/**
 * Maximum size of a body that is sent directly. Queues take 128 kB per message, including some hundred bytes that
 * they add. A larger body goes into R2, and the message has its key (the claim check pattern). Only the bucket's
 * lifecycle rule deletes the object, after the retention of queue and dead-letter queue together.
 */
const bodyBytesMax = 120_000;
/** Limits of one `sendBatch`: Queues take 100 messages and 256 kB. */
const batchMessagesMax = 100;
const batchBytesMax = 240_000;
/** Time limit of a send: a `sendBatch` may hang for 57 s before it throws (cloudflare/workerd#6053). */
const sendSecondsMax = 10;
/** Time limit for storing a request of up to 4 MiB. */
const storeSecondsMax = 15;

const claimCheckStart = '{"kind":"claim_check"';
const claimCheckSchema = z.strictObject({ kind: z.literal("claim_check"), key: z.string() });

/** Creates the call queue, or the events queue, on Cloudflare Queues, with R2 for large messages. */
export function createCloudflareQueue<Sent = CallMessage>(
  queue: Queue,
  bucket: R2Bucket,
): CallQueue<Sent> {
  async function bodyOf(message: unknown): Promise<{ body: string; bytes: number }> {
    const json = toJson(message);
    const bytes = Buffer.byteLength(json);
    if (bytes <= bodyBytesMax) return { body: json, bytes };
    const key = `messages/${crypto.randomUUID()}`;
    await withTimeLimit(bucket.put(key, json), storeSecondsMax);
    const body = JSON.stringify({ kind: "claim_check", key });
    return { body, bytes: Buffer.byteLength(body) };
  }

  return {
    async send(message, delaySeconds = 0) {
      const { body } = await bodyOf(message);
      await withTimeLimit(queue.send(body, { contentType: "text", delaySeconds }), sendSecondsMax);
    },
    async sendMany(messages) {
      let sent = 0;
      let batch: MessageSendRequest[] = [];
      let batchBytes = 0;
      const flush = async () => {
        if (batch.length > 0) await withTimeLimit(queue.sendBatch(batch), sendSecondsMax);
        sent += batch.length;
        batch = [];
        batchBytes = 0;
      };
      try {
        for (const { message, delaySeconds = 0 } of messages) {
          const { body, bytes } = await bodyOf(message);
          if (batch.length === batchMessagesMax || batchBytes + bytes > batchBytesMax)
            await flush();
          batch.push({ body, contentType: "text", delaySeconds });
          batchBytes += bytes;
        }
        await flush();
      } catch {
        // The queue is throttled or unreachable. The caller sends the rest again.
      }
      return sent;
    },
  };
}

/**
 * Resolves to the time at which the oldest message of a queue was sent, by Cloudflare's best knowledge. Undefined: there is
 * none, or Cloudflare does not say.
 */
export async function readOldestSentAt(queue: Queue): Promise<number | undefined> {
  try {
    const { oldestMessageTimestamp } = await withTimeLimit(queue.metrics(), sendSecondsMax);
    return oldestMessageTimestamp?.getTime() || undefined; // 0 stands for an unknown time, too
  } catch {
    return undefined; // figures are no reason for an alarm
  }
}

/** Wraps a message of a Worker's batch. Its body is fetched from R2 on `open`. */
export function toCloudflareDelivery(message: Message, bucket: R2Bucket): Delivered {
  return {
    attempt: message.attempts,
    id: message.id,
    async open() {
      const body = await openBody(z.string().parse(message.body), bucket);
      if (body === undefined) throw new Error("an object of a message is missing");
      return body;
    },
  };
}

/** Returns a body as it was sent, which may be in R2. Undefined: it is not there. */
export async function openBody(body: string, bucket: R2Bucket): Promise<string | undefined> {
  if (!body.startsWith(claimCheckStart)) return body;
  const { key } = claimCheckSchema.parse(JSON.parse(body));
  const object = await withTimeLimit(bucket.get(key), storeSecondsMax);
  return object === null ? undefined : withTimeLimit(object.text(), storeSecondsMax);
}

/** Acknowledges each message of a delivery, or has it delivered again, by the answer at its place. */
export function answerBatch(messages: readonly Message[], answers: readonly AckOrRetry[]): void {
  for (const [index, message] of messages.entries()) {
    const answer = answers[index];
    if (answer === "ack") message.ack();
    else message.retry({ delaySeconds: answer?.retryAfterSeconds ?? 60 });
  }
}
