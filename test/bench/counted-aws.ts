import { createDynamoDocuments } from "#shared/aws/dynamodb-documents.ts";
import type { DynamoAction, Item } from "#shared/aws/dynamodb-client.ts";
import { createDynamoLedger } from "#shared/aws/dynamodb-ledger.ts";
import { dynamoTable } from "#shared/aws/dynamodb-table.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { Message } from "#shared/ports/call-messages.ts";
import { createSqsQueue, toSqsDelivery } from "#shared/aws/sqs-queue.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { type AwsEngines, startAwsEngines } from "#infra/local/aws-engines.ts";
import { between } from "../support/aws/dynamo-between.ts";
import { queryUnits, readUnits, storedBytes, writeUnits } from "./dynamo-units.ts";
import { type Meter, type Sent, takeReady, unitsOf } from "./meter.ts";
import { type CountedPlatform, type CountedQueue, createClock } from "./service.ts";

const table = "ledger";
const bucket = "messages";
const retentionMs = 60 * 86_400_000;
/** Maximum messages that SQS hands out, or deletes, in one request. */
const receivedMax = 10;

const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);

/**
 * Starts DynamoDB (dynalite), SQS and S3 (fauxqs). Counts dynamoRequests, dynamoWrites (requests that write),
 * dynamoWriteUnits and dynamoReadUnits (by the documented rules), sqsSends, sqsRequests (each 64 KB; ten
 * messages per request to receive and to delete), s3Puts, s3Gets and dialerInvocations.
 */
export async function startAws(meter: Meter): Promise<CountedPlatform> {
  const engines = await startAwsEngines();
  await Promise.all([engines.createTable(table), engines.createBucket(bucket)]);
  const clock = createClock();
  const { client, items } = countedDynamo(engines, meter);
  const sent = countedSqs(engines, meter, clock.now);
  engines.s3.middlewareStack.add(
    (next, { commandName = "" }) =>
      async (args) => {
        meter.add(commandName === "PutObjectCommand" ? "s3Puts" : "s3Gets");
        return next(args);
      },
    { step: "initialize" },
  );
  const s3 = async () => engines.s3;
  const queueOf = async <Body>(name: string): Promise<CountedQueue<Body>> => {
    const queueUrl = await engines.createQueue(name);
    const waiting: Sent[] = [];
    sent.set(queueUrl, waiting);
    return {
      queue: createSqsQueue<Body>({ sqs: engines.sqs, queueUrl, s3, bucket }),
      waiting: () => waiting.length,
      nextAt: () => Math.min(...waiting.map(({ readyAt }) => readyAt)),
      deliver(count, readyBy = Infinity) {
        const taken = takeReady(waiting, count, readyBy);
        meter.add("dialerInvocations");
        for (let start = 0; start < taken.length; start += receivedMax) {
          const some = taken.slice(start, start + receivedMax);
          meter.add("sqsRequests", unitsOf(sum(some.map(({ body }) => body.length))) + 1);
        }
        const attributes = { ApproximateReceiveCount: "1" };
        return taken.map(({ body }, index) =>
          toSqsDelivery({ messageId: `message-${index}`, body, attributes }, s3, bucket),
        );
      },
    };
  };

  return {
    name: "AWS",
    deliverySize: 1, // as in infra/aws/limits.ts
    concurrency: 25, // as in functions/dialer/lambda.ts
    consumers: 20,
    dispatcher: { lifeMs: 780_000, headsPerLook: 200, endsIdle: true },
    clock,
    ledger: createDynamoLedger(client, table, { retentionMs, now: clock.now }),
    documents: createDynamoDocuments(client, table, {
      now: clock.now,
      freshVersion: randomVersion,
    }),
    ...(await queueOf<Message>("calls")),
    events: await queueOf<EventMessage>("events"),
    stored() {
      const all = [...items.values()].map(storedBytes);
      return { all: sum(all.map((one) => one.all)), table: sum(all.map((one) => one.table)) };
    },
    async stop() {
      await engines.stop();
    },
  };
}

/** Common fields of the commands that the adapters send. */
interface Input {
  Item?: Item;
  Key?: Item;
  ConsistentRead?: boolean;
  RequestItems?: Record<string, { Keys?: Item[]; ConsistentRead?: boolean }>;
}

interface Output {
  Item?: Item;
  Items?: Item[];
  Attributes?: Item;
  Responses?: Record<string, Item[]>;
}

/** Returns a client whose requests are counted, and the current items: there is no other writer. */
function countedDynamo(engines: AwsEngines, meter: Meter) {
  const items = new Map<string, Item>();
  const labelOf = (item: Item = {}) =>
    `${item[dynamoTable.hashKey]?.S ?? ""} ${item[dynamoTable.rangeKey]?.S ?? ""}`;

  function countRead(action: DynamoAction, input: Input, output: Output): void {
    const { ConsistentRead = false } = input;
    if (action === "Query") {
      return meter.add("dynamoReadUnits", queryUnits(output.Items ?? [], ConsistentRead));
    }
    const asked = input.RequestItems?.[table];
    const found = output.Responses?.[table] ?? (output.Item === undefined ? [] : [output.Item]);
    const missing = (asked?.Keys?.length ?? 1) - found.length;
    const isConsistent = asked?.ConsistentRead ?? ConsistentRead;
    meter.add("dynamoReadUnits", readUnits(found, missing, isConsistent));
  }

  const client = between(engines.dynamo, async ({ action, input: asked }, send) => {
    const input: Input = asked;
    const isUpdate = action === "UpdateItem";
    const isWrite = isUpdate || action === "PutItem" || action === "DeleteItem";
    const label = labelOf(input.Item ?? input.Key);
    const before = items.get(label);
    meter.add("dynamoRequests");
    if (isWrite) meter.add("dynamoWrites");
    try {
      const answer = await send();
      const output: Output = answer.output;
      if (!isWrite) countRead(action, input, output);
      else {
        // The adapters request all attributes after an update.
        const after = isUpdate ? output.Attributes : input.Item;
        meter.add("dynamoWriteUnits", writeUnits(before, after));
        if (after === undefined) items.delete(label);
        else items.set(label, after);
      }
      return answer;
    } catch (error) {
      if (isWrite) meter.add("dynamoWriteUnits", writeUnits(before, before));
      throw error;
    }
  });
  return { client, items };
}

/** Counts the messages sent. Returns those of each queue whose URL is put there. */
function countedSqs({ sqs }: AwsEngines, meter: Meter, now: () => number): Map<string, Sent[]> {
  const sent = new Map<string, Sent[]>();
  sqs.middlewareStack.add(
    (next, { commandName = "" }) =>
      async (args) => {
        const result = await next(args);
        if (!commandName.startsWith("SendMessage")) return result;
        const { QueueUrl, Entries, ...one }: Sending = Object(args.input);
        const entries = Entries ?? [one];
        meter.add("sqsSends");
        meter.add(
          "sqsRequests",
          unitsOf(sum(entries.map(({ MessageBody = "" }) => MessageBody.length))),
        );
        for (const { MessageBody: body = "", DelaySeconds = 0 } of entries) {
          sent.get(QueueUrl)?.push({ body, readyAt: now() + DelaySeconds * 1000 });
        }
        return result;
      },
    { step: "initialize" },
  );
  return sent;
}

interface Entry {
  MessageBody?: string;
  DelaySeconds?: number;
}

/** Fields of the commands that send one message, or several. */
interface Sending extends Entry {
  QueueUrl: string;
  Entries?: Entry[];
}
