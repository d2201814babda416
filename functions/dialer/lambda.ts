import { ChangeMessageVisibilityCommand } from "@aws-sdk/client-sqs";
import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import dialPlan from "#infra/dial-plan.json" with { type: "json" };
import { type AwsPlatform, createAwsPlatform, everyFiveMinutes } from "#shared/aws/platform.ts";
import { createDynamoDocuments } from "#shared/aws/dynamodb-documents.ts";
import { createDynamoLedger } from "#shared/aws/dynamodb-ledger.ts";
import { createWake } from "#shared/aws/lambda-invoke.ts";
import { lambdaLog as log } from "#shared/aws/log.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { createS3Stores } from "#shared/aws/s3-stores.ts";
import { createSqsQueue, toSqsDelivery } from "#shared/aws/sqs-queue.ts";
import { sendByNode } from "#shared/aws/node-client.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { readDialerSettings } from "#shared/settings/settings.ts";
import { createDialerMemory } from "./runtime/memory.ts";
import { retryLater } from "./runtime/retry-later.ts";
import { connect, sweepSecondsOf, systemClock } from "./wiring.ts";
import { createHandlers, handlerFor, type Handlers, type QueueHandler } from "./handlers.ts";
import { retentionMsOf } from "#shared/dial-plan/expiry.ts";
import { minuteMs } from "#shared/lib/units.ts";

/**
 * Event of the EventBridge schedules: a dispatcher, a sweep and an upkeep every minute. Waking a dispatcher
 * sends the same event.
 */
export interface ScheduledEvent {
  scheduled: "dispatch" | "sweep" | "upkeep";
}

/** Default number of concurrent deliveries of the call queue. */
const consumersDefault = 20;
/**
 * Maximum new rows a second of one request. A partition of a DynamoDB index takes a thousand writes a second,
 * including claims.
 */
const rowsPerSecond = 500;

const wakeEvent: ScheduledEvent = { scheduled: "dispatch" };
const platform: AwsPlatform = createAwsPlatform(process.env, log);
const memory = createDialerMemory();
const queueUrls: Record<QueueHandler, string> = {
  messages: platform.queueUrl,
  events: platform.eventsQueueUrl,
};

const wire = everyFiveMinutes(async (): Promise<Handlers> => {
  const environment = await platform.environment();
  const now = Date.now;
  const print = console.log;
  const settings = readDialerSettings(
    environment,
    {
      bundledPlan: dialPlan,
      kinds: routeKinds,
      connect: (plan) => connect({ environment, fetch: sendByNode, now, print }, plan),
    },
    log,
  );
  const retentionMs = "value" in settings ? retentionMsOf(settings.value.plan) : 0;
  return createHandlers({
    queue: createSqsQueue(platform),
    eventsQueue: createSqsQueue<EventMessage>({ ...platform, queueUrl: platform.eventsQueueUrl }),
    ledger: createDynamoLedger(platform.dynamo, platform.table, { retentionMs }),
    documents: createDynamoDocuments(platform.dynamo, platform.table, {
      now,
      freshVersion: randomVersion,
    }),
    ...createS3Stores(platform.s3, platform.bucket),
    settings,
    clock: systemClock,
    random: { version: randomVersion, fraction: Math.random },
    concurrency: 25,
    consumers: Number(environment["CONSUMERS"]) || consumersDefault,
    rowsPerSecond,
    statementsLeft: () => Infinity,
    dispatcher: { lifeMs: 13 * minuteMs, headsPerLook: 200, endsIdle: true },
    wakeDispatcher: createWake(JSON.stringify(wakeEvent), { ...platform, variables: process.env }),
    sweepSeconds: sweepSecondsOf(environment),
    log,
    memory,
  });
}, log);

/** Handles messages of the queues, and the scheduled events. */
export async function handler(
  event: SQSEvent | ScheduledEvent,
  context: Context,
): Promise<SQSBatchResponse | undefined> {
  const deadline = Date.now() + context.getRemainingTimeInMillis();
  // A failed invocation would hide its messages for the visibility timeout, six times as long as it may run.
  if ("Records" in event) return deliver(event, await wire().catch(() => undefined), deadline);
  const handlers = await wire();
  await handlers[event.scheduled](deadline);
  return undefined;
}

/** Handles queue messages and reports those to retry by their ids: all, where the settings cannot be read. */
async function deliver(
  event: SQSEvent,
  handlers: Handlers | undefined,
  deadline: number,
): Promise<SQSBatchResponse> {
  const delivered = event.Records.map((record) =>
    toSqsDelivery(record, platform.s3, platform.bucket),
  );
  const queue = handlerFor(event.Records[0]?.eventSourceARN ?? "");
  const answers =
    handlers === undefined
      ? delivered.map(({ attempt }) => retryLater(attempt))
      : await handlers[queue](delivered, deadline);
  const again = event.Records.flatMap(({ messageId, receiptHandle }, index) => {
    const answer = answers[index];
    if (answer === "ack") return [];
    return [{ messageId, receiptHandle, seconds: answer?.retryAfterSeconds ?? 60 }];
  });
  await Promise.all(
    again.map(async ({ receiptHandle, seconds }) => {
      // If this fails, the message is retried at the end of the queue's visibility timeout.
      const command = new ChangeMessageVisibilityCommand({
        QueueUrl: queueUrls[queue],
        ReceiptHandle: receiptHandle,
        VisibilityTimeout: seconds,
      });
      await platform.sqs.send(command).catch(() => undefined);
    }),
  );
  return { batchItemFailures: again.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}
