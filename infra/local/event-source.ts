import { inspect } from "node:util";
import { complain, print } from "../cli/print.ts";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { askSqs, type SqsMessage } from "./ask-sqs.ts";
import { type LocalFunction, payloadBytesMax } from "./lambda-runtime.ts";
import { localRegion } from "./aws-engines.ts";
import { nextTrace } from "./lineage.ts";
import { traceAttribute } from "./traced-queues.ts";

/** Maximum messages of one ReceiveMessage or DeleteMessageBatch. */
const requestMessagesMax = 10;
/** Seconds for which a request waits for messages: as long as Lambda's own. */
const waitSeconds = 20;

interface EventSourceOptions {
  queueUrl: string;
  queueName: string;
  consumer: LocalFunction;
  batchSize: number;
  /** Maximum batches under way at once. */
  concurrency: number;
}

/**
 * Polls a queue for a function like Lambda's event source: gathers a batch, invokes, and deletes the messages
 * that the function does not report as failed. Failed messages, and all messages of a failed invocation, come
 * again at the end of their visibility timeout.
 */
export function startEventSource(options: EventSourceOptions): { stop(): Promise<void> } {
  const { queueUrl, queueName, consumer, batchSize, concurrency } = options;
  const abort = new AbortController();

  async function gather(): Promise<SqsMessage[]> {
    const messages: SqsMessage[] = [];
    while (messages.length < batchSize) {
      const asked = {
        QueueUrl: queueUrl,
        MaxNumberOfMessages: Math.min(requestMessagesMax, batchSize - messages.length),
        WaitTimeSeconds: messages.length === 0 ? waitSeconds : 0,
        MessageSystemAttributeNames: ["All"],
        MessageAttributeNames: [traceAttribute],
      };
      const { Messages = [] } = await askSqs("ReceiveMessage", asked, abort.signal);
      messages.push(...Messages);
      if (Messages.length === 0) break;
    }
    return messages;
  }

  async function deliver(messages: SqsMessage[]): Promise<void> {
    const trace = nextTrace(messages.map(traceOf), consumer.name);
    if (trace === undefined) {
      // As on Lambda, the messages are redelivered, and fail again.
      print(JSON.stringify({ level: "alarm", event: "recursive.stopped", queue: queueName }));
      return;
    }
    const answer = await consumer
      .invoke(eventOf(messages, queueName), trace)
      .catch(() => undefined);
    const done = doneBy(answer, messages);
    for (let start = 0; start < done.length; start += requestMessagesMax) {
      const Entries = done
        .slice(start, start + requestMessagesMax)
        .map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
      await askSqs("DeleteMessageBatch", { QueueUrl: queueUrl, Entries });
    }
  }

  async function poll(): Promise<void> {
    while (!abort.signal.aborted) {
      try {
        const messages = await gather();
        for (const batch of inPayloads(messages, queueName)) await deliver(batch);
      } catch (error) {
        if (!abort.signal.aborted) complain(`polling a queue failed: ${inspect(error)}`);
      }
    }
  }
  const pollers = Array.from({ length: concurrency }, poll);
  return {
    async stop() {
      abort.abort();
      await Promise.all(pollers);
    },
  };
}

/** Returns the messages that an invocation has handled: all that it does not report as failed, and none if it failed. */
function doneBy(answer: unknown, messages: readonly SqsMessage[]): SqsMessage[] {
  if (!isBatchResponse(answer)) return [];
  const failed = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
  return messages.filter(({ MessageId }) => !failed.has(MessageId));
}

/** Splits a batch where it is larger than Lambda takes, as Lambda does. */
function inPayloads(messages: readonly SqsMessage[], queueName: string): SqsMessage[][] {
  const batches: SqsMessage[][] = [];
  let batch: SqsMessage[] = [];
  let bytes = Infinity;
  for (const message of messages) {
    const own = Buffer.byteLength(JSON.stringify(eventOf([message], queueName)));
    bytes += own;
    if (bytes > payloadBytesMax) {
      batch = [];
      batches.push(batch);
      bytes = own;
    }
    batch.push(message);
  }
  return batches;
}

function traceOf({ MessageAttributes }: SqsMessage): string {
  return MessageAttributes?.[traceAttribute]?.StringValue ?? "";
}

function eventOf(messages: SqsMessage[], queueName: string): SQSEvent {
  return {
    Records: messages.map(({ MessageId, ReceiptHandle, Body, Attributes, MD5OfBody }) => ({
      messageId: MessageId,
      receiptHandle: ReceiptHandle,
      body: Body,
      attributes: {
        ApproximateReceiveCount: Attributes?.ApproximateReceiveCount ?? "1",
        SentTimestamp: Attributes?.SentTimestamp ?? "",
        SenderId: Attributes?.SenderId ?? "",
        ApproximateFirstReceiveTimestamp: Attributes?.ApproximateFirstReceiveTimestamp ?? "",
      },
      messageAttributes: {},
      md5OfBody: MD5OfBody,
      eventSource: "aws:sqs",
      eventSourceARN: `arn:aws:sqs:${localRegion}:000000000000:${queueName}`,
      awsRegion: localRegion,
    })),
  };
}

function isBatchResponse(answer: unknown): answer is SQSBatchResponse {
  return typeof answer === "object" && answer !== null && "batchItemFailures" in answer;
}
