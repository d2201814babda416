import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { handle, type LambdaContext, type LambdaEvent } from "hono/aws-lambda";
import dialPlan from "#infra/dial-plan.json" with { type: "json" };
import { createAwsPlatform, everyFiveMinutes } from "#shared/aws/platform.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { lazyPort } from "#shared/lib/lazy-port.ts";
import { lambdaLog as log } from "#shared/aws/log.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { createSqsQueue, toSqsDelivery } from "#shared/aws/sqs-queue.ts";
import { randomId, randomVersion } from "#shared/lib/random.ts";
import {
  readApiSettings,
  readClientRights,
  readOperators,
  readTokens,
} from "#shared/settings/settings.ts";
import { createApp } from "./app.ts";
import { storeDeadLetters } from "./actions/store-dead-letters.ts";
import { adaptEvent } from "./lambda-event.ts";
import { laterParts } from "./parts.ts";
import { retentionMsOf } from "#shared/dial-plan/expiry.ts";

/** Folder of the served files, beside the handler. */
const servedFolder = join(import.meta.dirname, "generated/served");

const platform = createAwsPlatform(process.env, log);

async function createLedger(retentionMs: number): Promise<CallLedger> {
  const { createDynamoLedger } = await import("#shared/aws/dynamodb-ledger.ts");
  return createDynamoLedger(platform.dynamo, platform.table, { retentionMs });
}

async function createDocuments(): Promise<Documents> {
  const { createDynamoDocuments } = await import("#shared/aws/dynamodb-documents.ts");
  const client = platform.dynamo;
  return createDynamoDocuments(client, platform.table, {
    now: Date.now,
    freshVersion: () => randomVersion(),
  });
}

async function createStores() {
  const { createS3Stores } = await import("#shared/aws/s3-stores.ts");
  return createS3Stores(platform.s3, platform.bucket);
}

const wire = everyFiveMinutes(async () => {
  const environment = await platform.environment();
  const settings = readApiSettings(environment, { bundledPlan: dialPlan, kinds: routeKinds }, log);
  const retentionMs = "value" in settings ? retentionMsOf(settings.value.plan) : 0;
  const app = createApp({
    queue: createSqsQueue(platform),
    eventsQueue: createSqsQueue<EventMessage>({ ...platform, queueUrl: platform.eventsQueueUrl }),
    // Only requests with an Idempotency-Key, questions about requests, and operators' requests need these.
    ledger: lazyPort(() => createLedger(retentionMs)),
    documents: lazyPort(createDocuments),
    deadLetters: lazyPort(async () => (await createStores()).deadLetters),
    journal: lazyPort(async () => (await createStores()).journal),
    epochStore: lazyPort(async () => (await createStores()).epochStore),
    settings,
    ...readTokens(environment, log),
    clientRights: readClientRights(environment),
    operatorOf: readOperators(environment, log),
    readServed: (name) => readFile(join(servedFolder, name), "utf8"),
    parts: laterParts,
    clock: { now: Date.now },
    randomId,
    log,
  });
  return handle(app);
}, log);

/**
 * Answers events of an HTTP API (payload 2.0), a REST API, a Function URL and a load balancer. Stores the messages of
 * the dead-letter queues, because the dialer may be dead. A message that could not be stored returns after the
 * queue's visibility timeout.
 */
export function handler(event: SQSEvent): Promise<SQSBatchResponse>;
export function handler(
  event: LambdaEvent,
  context?: LambdaContext,
): ReturnType<ReturnType<typeof handle>>;
export async function handler(event: LambdaEvent | SQSEvent, context?: LambdaContext) {
  if ("Records" in event) return storeLetters(event);
  const answer = await wire();
  return answer(adaptEvent(event, process.env["BASE_PATH"]), context);
}

async function storeLetters({ Records }: SQSEvent): Promise<SQSBatchResponse> {
  const letters = Records.map((record) => ({
    ...toSqsDelivery(record, platform.s3, platform.bucket),
    envelope: record.body,
  }));
  const queue = Records[0]?.eventSourceARN ?? "";
  const answers = await storeDeadLetters(queue, letters, { ...(await createStores()), log });
  const again = Records.filter((_, index) => answers[index] !== "ack");
  return { batchItemFailures: again.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}
