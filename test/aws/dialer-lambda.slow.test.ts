import { listDocuments, readRow } from "#test/support/reads.ts";
import {
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { handler as dialerHandler } from "#functions/dialer/lambda.ts";
import { type AwsEngines, localRegion, startAwsEngines } from "#infra/local/aws-engines.ts";
import { createDynamoDocuments } from "#shared/aws/dynamodb-documents.ts";
import { createS3DeadLetters } from "#shared/aws/s3-stores.ts";
import { createDynamoLedger } from "#shared/aws/dynamodb-ledger.ts";
import { endMarginMs } from "#shared/lib/timing.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import type { Message } from "#shared/ports/call-messages.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { createSqsQueue } from "#shared/aws/sqs-queue.ts";
import { aCall, toCallsMessage } from "../support/calls.ts";
import { apiEnvironment } from "../support/environment.ts";
import { judgeOf } from "../support/aws/rights.ts";
import { useStacks } from "../support/aws-stacks.ts";
import { startReceiver } from "../support/receiver.ts";
import { rowIn, writeRows } from "../support/rows.ts";
import { useRights } from "./use-rights.ts";

const bucket = "outbound-calls";
/** The stack whose rights each function has. */
const template = useStacks().templateOf({});
const ofApi = judgeOf(template, "api");
const ofDialer = judgeOf(template, "dialer");
const ofDispatcher = judgeOf(template, "dispatcher");
const { before: startBefore, rights } = useRights(ofDialer);
let engines: AwsEngines;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let queueUrl: string;
let eventsQueueUrl: string;
let ledger: CallLedger;
let handler: typeof dialerHandler;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the handler uses only this method of its context
const context = { getRemainingTimeInMillis: () => 120_000 } as Context;

beforeAll(async () => {
  engines = await startAwsEngines();
  receiver = await startReceiver((_request, response) => response.end());
  await engines.createBucket(bucket);
  await engines.createTable("ledger");
  queueUrl = await engines.createQueue("calls", { VisibilityTimeout: "1" });
  eventsQueueUrl = await engines.createQueue("calls-events", { VisibilityTimeout: "1" });
  const plan = {
    agents: { "*": { provider: "webhook", url: `${receiver.url}/dial` } },
    callingHours: { default: "always" },
    destinations: { allow: ["*"] },
  };
  const { endpoint, dynamoEndpoint } = await startBefore(engines);
  Object.assign(process.env, apiEnvironment, {
    ...engines.variables,
    AWS_ENDPOINT_URL_SQS: endpoint,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_ENDPOINT_URL_DYNAMODB: dynamoEndpoint,
    DIAL_PLAN: JSON.stringify(plan),
    QUEUE_URL: queueUrl.replace(engines.endpoint, endpoint),
    EVENTS_QUEUE_URL: eventsQueueUrl.replace(engines.endpoint, endpoint),
    BUCKET: bucket,
    TABLE: "ledger",
  });
  ledger = createDynamoLedger(engines.dynamo, "ledger", { retentionMs: 60 * 86_400_000 });
  ({ handler } = await import("#functions/dialer/lambda.ts"));
});
afterAll(async () => {
  await receiver.close();
  await engines.stop();
});

const receive = async (QueueUrl = queueUrl): Promise<SQSRecord[]> => {
  const { Messages = [] } = await engines.sqs.send(
    new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }),
  );
  return Messages.map(({ MessageId = "", ReceiptHandle = "", Body = "" }) => ({
    messageId: MessageId,
    receiptHandle: ReceiptHandle,
    body: Body,
    attributes: {
      ApproximateReceiveCount: "1",
      SentTimestamp: "",
      SenderId: "",
      ApproximateFirstReceiveTimestamp: "",
    },
    messageAttributes: {},
    md5OfBody: "",
    eventSource: "aws:sqs",
    eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:calls",
    awsRegion: localRegion,
  }));
};
const send = (message: Message) =>
  createSqsQueue({ ...engines, s3: async () => engines.s3, queueUrl, bucket }).send(message);
/** Has the API keep dead letters. */
async function keep(dead: SQSEvent): Promise<SQSBatchResponse> {
  const { handler: api } = await import("#functions/api/lambda.ts");
  rights().judgeBy(ofApi);
  const answer = await api(dead);
  rights().judgeBy(ofDialer);
  return answer;
}

describe("the dialer's Lambda function", () => {
  it("shows its messages again soon where a cold start cannot read its settings", async () => {
    const unreachable = {
      SECRET_IDS: "settings",
      AWS_ENDPOINT_URL_SECRETS_MANAGER: "http://127.0.0.1:9",
    };
    Object.assign(process.env, unreachable);
    for (const MessageBody of ['{"kind":"of a cold start"}', '{"kind":"of nobody"}']) {
      await engines.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody }));
    }
    const received = await receive();
    const record = received.find(({ body }) => body.includes("cold"));
    if (record === undefined) throw new Error("nothing was received");
    expect(await handler({ Records: [record] }, context)).toEqual({
      batchItemFailures: [{ itemIdentifier: record.messageId }],
    });
    await expect(handler({ scheduled: "sweep" }, context)).rejects.toThrow("settings");
    for (const name of Object.keys(unreachable)) delete process.env[name];
    // The queue would show both again after a second, but the handled one is hidden for five.
    await new Promise((next) => setTimeout(next, 1500));
    const again = await receive();
    expect(again.map(({ body }) => body)).toEqual(['{"kind":"of nobody"}']);
    for (const { receiptHandle: ReceiptHandle } of [record, ...again]) {
      await engines.sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
    }
  });

  it("dials what it can, reports the rest by id, and hides it for the retry delay", async () => {
    // Fresh calls of an account that has never answered wait for a dispatcher.
    const documents = createDynamoDocuments(engines.dynamo, "ledger", {
      now: Date.now,
      freshVersion: randomVersion,
    });
    const account = {
      kind: "account" as const,
      key: `webhook:${new URL(receiver.url).origin}`,
      version: randomVersion(),
      value: { busy: false, quick: true },
      expiresAt: null,
    };
    await documents.write([{ next: account, seen: null }]);
    const call = aCall({ acceptedAt: Date.now() });
    await send(toCallsMessage([call]));
    await engines.sqs.send(
      new SendMessageCommand({
        QueueUrl: queueUrl,
        MessageBody: '{"kind":"nothing that is known"}',
      }),
    );
    const records = await receive();
    expect(records).toHaveLength(2);
    const unreadable = records.find(({ body }) => body.includes("nothing"));
    expect(await handler({ Records: records }, context)).toEqual({
      batchItemFailures: [{ itemIdentifier: unreadable?.messageId }],
    });
    expect(receiver.received.map(({ id }) => id)).toEqual([call.id]);
    expect(await readRow(ledger, call.id)).toMatchObject({ state: "PLACED" });
    // The queue would show both messages again after a second, but the failed one is hidden for a minute.
    await new Promise((next) => setTimeout(next, 1500));
    expect((await receive()).map(({ body }) => body.includes("nothing"))).toEqual([false]);
  });

  it("hands dead letters to review that the API has kept, and dials none of them", async () => {
    const letters = createS3DeadLetters(async () => engines.s3, bucket);
    const call = aCall({ acceptedAt: Date.now() });
    await send(toCallsMessage([call]));
    await engines.sqs.send(
      new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: '{"kind":"of a later version"}' }),
    );
    const dead = (await receive())
      .filter(({ body }) => body.includes(call.requestId) || body.includes("later"))
      .map((record) => ({
        ...record,
        eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:calls-dead",
      }));
    expect(dead).toHaveLength(2);
    expect(await keep({ Records: dead })).toEqual({ batchItemFailures: [] });
    const names = async () => (await letters.list({ limit: 10 })).letters.map(({ name }) => name);
    expect(await names()).toEqual(dead.map(({ messageId }) => `calls-${messageId}`).toSorted());

    await handler({ scheduled: "sweep" }, context);
    expect(receiver.received.filter(({ id }) => id === call.id)).toEqual([]);
    expect(await readRow(ledger, call.id)).toMatchObject({
      state: "NEEDS_REVIEW",
      reason: "dead_letter",
      request: call.request,
    });
    const later = dead.find(({ body }) => body.includes("later"));
    expect(await names()).toEqual([`calls-${later?.messageId}`]);
  });

  it("handles events apart, and hides one that it cannot read on the events queue", async () => {
    const bodies = ['{"kind":"poll","account":"webhook","sentAt":0}', '{"kind":"odd"}'];
    for (const MessageBody of bodies) {
      await engines.sqs.send(new SendMessageCommand({ QueueUrl: eventsQueueUrl, MessageBody }));
    }
    const received = await receive(eventsQueueUrl);
    const odd = received.find(({ body }) => body.includes("odd"));
    const from = (queue: string) => ({
      Records: received.map((record) => ({
        ...record,
        eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:calls-${queue}`,
      })),
    });
    expect(await handler(from("events"), context)).toEqual({
      batchItemFailures: [{ itemIdentifier: odd?.messageId }],
    });
    // It would be visible again after a second, but is hidden for five.
    await new Promise((next) => setTimeout(next, 1500));
    expect((await receive(eventsQueueUrl)).map(({ body }) => body)).not.toContain(bodies[1]);
    // It may be a signed callback, so that it is kept.
    expect(await keep(from("events-dead"))).toEqual({ batchItemFailures: [] });
    const letters = createS3DeadLetters(async () => engines.s3, bucket);
    expect((await letters.read(`events-${odd?.messageId}`))?.body).toBe('{"kind":"odd"}');
  });

  it("sweeps on a schedule's event, beside the queue", async () => {
    const before = Date.now();
    expect(await handler({ scheduled: "sweep" }, context)).toBeUndefined();
    const documents = createDynamoDocuments(engines.dynamo, "ledger", {
      now: Date.now,
      freshVersion: randomVersion,
    });
    const [current] = await listDocuments(documents, "sweep", { limit: 2 });
    expect(current?.value.leaseUntil).toBe(0);
    expect(current?.value.fullRoundAt).toBeGreaterThanOrEqual(before);
    expect(await handler({ scheduled: "upkeep" }, context)).toBeUndefined();
  });

  it("dispatches what is due as the dispatcher, which may delete nothing", async () => {
    const documents = createDynamoDocuments(engines.dynamo, "ledger", {
      now: Date.now,
      freshVersion: randomVersion,
    });
    const call = aCall({ acceptedAt: Date.now() });
    await writeRows([rowIn("WAITING", call, { dueAt: Date.now() })], ledger, documents);
    rights().judgeBy(ofDispatcher);
    // One tick, as nothing dials what it has dispatched.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    const short = { getRemainingTimeInMillis: () => endMarginMs } as Context;
    await handler({ scheduled: "dispatch" }, short);
    expect((await receive()).map(({ body }) => body)).toContainEqual(
      expect.stringContaining('"dispatch"'),
    );
  });
});
