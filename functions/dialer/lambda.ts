import { ChangeMessageVisibilityCommand } from "@aws-sdk/client-sqs";
import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import dialPlan from "../../infra/dial-plan.json" with { type: "json" };
import { createDynamoLedger } from "../../shared/ledger/dynamodb-ledger.ts";
import { consoleLog as log } from "../../shared/log.ts";
import { createProviders } from "../../shared/providers/index.ts";
import { createSqsQueue, deliveredBySqs } from "../../shared/queue/sqs-queue.ts";
import { randomId } from "../../shared/random-id.ts";
import { readDialerSettings } from "../../shared/settings.ts";
import {
  type AwsPlatform,
  createAwsPlatform,
  everyFiveMinutes,
} from "../../shared/aws-platform.ts";
import { handleDeadLetters } from "./dead-letters.ts";
import { type DialerDeps, systemClock } from "./dialer.ts";
import { handleDelivery } from "./handle-delivery.ts";

const platform: AwsPlatform = createAwsPlatform(process.env, log);

/**
 * A connection of its own for each request: one kept open may be closed by the provider just as it is used,
 * which looks like a call of unknown outcome.
 */
const send: typeof fetch = (input, init) =>
  fetch(input, { ...init, headers: { ...Object(init?.headers), connection: "close" } });

const wire = everyFiveMinutes(async (): Promise<DialerDeps> => {
  const environment = await platform.environment();
  const now = Date.now;
  const print = console.log;
  const settings = readDialerSettings(
    environment,
    dialPlan,
    (routes) => createProviders({ environment, fetch: send, now, print }, routes),
    log,
  );
  const retentionMs = "value" in settings ? settings.value.plan.retentionDays * 86_400_000 : 0;
  return {
    queue: createSqsQueue(platform),
    ledger: createDynamoLedger(await platform.dynamo(), platform.table, retentionMs),
    settings,
    clock: systemClock,
    random: { token: randomId, fraction: Math.random },
    lanes: 25,
    log,
  };
}, log);

/** Delivers the call queue's messages, and the dead-letter queue's; what comes again is reported by its id. */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const deps = await wire();
  const delivered = event.Records.map((record) =>
    deliveredBySqs(record, platform.s3, platform.bucket),
  );
  const isDead = event.Records[0]?.eventSourceARN.endsWith("-dead") === true;
  const dispositions = isDead
    ? await handleDeadLetters(delivered, deps)
    : await handleDelivery(delivered, deps, Date.now() + context.getRemainingTimeInMillis());

  const again = event.Records.flatMap(({ messageId, receiptHandle }, index) => {
    const disposition = dispositions[index];
    if (disposition === "acknowledge") return [];
    return [{ messageId, receiptHandle, seconds: disposition?.retryAfterSeconds ?? 60 }];
  });
  const QueueUrl = isDead ? platform.deadQueueUrl : platform.queueUrl;
  await Promise.all(
    again.map(async ({ receiptHandle, seconds }) => {
      // Without it the message comes again all the same, at the end of the queue's visibility timeout.
      const command = new ChangeMessageVisibilityCommand({
        QueueUrl,
        ReceiptHandle: receiptHandle,
        VisibilityTimeout: seconds,
      });
      await platform.sqs.send(command).catch(() => undefined);
    }),
  );
  return { batchItemFailures: again.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}
