import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createDynamoLedger } from "../../shared/ledger/dynamodb-ledger.ts";
import { dynamoTable, type Item } from "../../shared/ledger/dynamodb-table.ts";
import { createSqsQueue, deliveredBySqs } from "../../shared/queue/sqs-queue.ts";
import { localCredentials, localRegion, startAwsEngines } from "../local/aws-engines.ts";
import { type Meter, type Sent, unitsOf } from "./meter.ts";
import type { CountedPlatform } from "./service.ts";

const table = "ledger";
const bucket = "messages";
const retentionMs = 30 * 86_400_000;
/** What SQS hands out, and deletes, in one request. */
const receivedMax = 10;

const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);

/** Bytes of an attribute, as DynamoDB's documentation counts them. */
function bytesOf(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined) return Math.ceil(value.N.replace(/[-.]/g, "").length / 2) + 1;
  if (value.L !== undefined) return 3 + sum(value.L.map((one) => 1 + bytesOf(one)));
  if (value.M !== undefined) return 3 + itemBytes(value.M) + Object.keys(value.M).length;
  return 1;
}

function itemBytes(item: Item): number {
  return sum(Object.entries(item).map(([name, one]) => Buffer.byteLength(name) + bytesOf(one)));
}

const writeUnits = (item: Item) => Math.max(1, Math.ceil(itemBytes(item) / 1024));

/** What an index has of an item; undefined where the item has not both of its keys. */
function entryIn(index: keyof typeof dynamoTable.indexes, item: Item | undefined) {
  const { hashKey, rangeKey, ...more } = dynamoTable.indexes[index];
  const [hash, range] = [item?.[hashKey], item?.[rangeKey]];
  if (item === undefined || hash === undefined || range === undefined) return undefined;
  const { projected }: { projected?: readonly string[] } = more;
  const kept = new Set<string>([dynamoTable.hashKey, hashKey, rangeKey, ...(projected ?? [])]);
  const entry =
    projected === undefined
      ? item
      : Object.fromEntries(Object.entries(item).filter(([name]) => kept.has(name)));
  return { place: JSON.stringify([hash, range]), entry };
}

/**
 * Write units that a change of an item costs in the indexes: an entry is put, deleted, or, where its keys have
 * changed, both.
 */
function indexUnits(before: Item | undefined, after: Item | undefined): number {
  const units = (["byDue", "byState", "byNumber", "byRequest"] as const).map((index) => {
    const [old, next] = [entryIn(index, before), entryIn(index, after)];
    if (old?.place !== next?.place) {
      return sum([old, next].map((one) => (one === undefined ? 0 : writeUnits(one.entry))));
    }
    if (old === undefined || next === undefined) return 0;
    const isSame = JSON.stringify(old.entry) === JSON.stringify(next.entry);
    return isSame ? 0 : Math.max(writeUnits(old.entry), writeUnits(next.entry));
  });
  return sum(units);
}

/**
 * DynamoDB (dynalite), SQS and S3 (fauxqs). Counts dynamoRequests, dynamoWrites (requests that write), dynamoWriteUnits
 * and dynamoReadUnits (dynalite's count of the table's; the indexes' by the documented rules), sqsSends, sqsRequests
 * (each 64 KB; to receive and to delete, ten messages a request), s3Puts, s3Gets and dialerInvocations.
 */
export async function startAws(meter: Meter): Promise<CountedPlatform> {
  const engines = await startAwsEngines();
  await Promise.all([engines.createTable(table), engines.createBucket(bucket)]);
  const queueUrl = await engines.createQueue("calls");
  const client = new DynamoDBClient({
    region: localRegion,
    credentials: localCredentials,
    endpoint: engines.dynamoEndpoint,
  });
  /** Items as they stand: nobody else writes. */
  const items = new Map<string, Item>();
  client.middlewareStack.add(
    (next, { commandName = "" }) =>
      async (args) => {
        const input: { ReturnValues?: string; Item?: Item; Key?: Item } = Object(args.input);
        const isUpdate = commandName === "UpdateItemCommand";
        const asked = {
          ...input,
          ReturnConsumedCapacity: "TOTAL",
          ...(isUpdate && input.ReturnValues === undefined ? { ReturnValues: "ALL_NEW" } : {}),
        };
        const pk = (input.Item ?? input.Key)?.[dynamoTable.hashKey]?.S ?? "";
        const before = items.get(pk);
        const isWrite = isUpdate || ["PutItemCommand", "DeleteItemCommand"].includes(commandName);
        meter.add("dynamoRequests");
        if (isWrite) meter.add("dynamoWrites");
        try {
          const result = await next({ ...args, input: asked });
          const {
            ConsumedCapacity,
            Attributes,
          }: { ConsumedCapacity?: Used | Used[]; Attributes?: Item } = Object(result.output);
          const used = sum([ConsumedCapacity ?? []].flat().map((one) => one.CapacityUnits ?? 0));
          // A question that finds nothing costs half a unit all the same.
          if (!isWrite) meter.add("dynamoReadUnits", Math.max(0.5, used));
          else {
            const whole = asked.ReturnValues === "ALL_NEW" ? Attributes : before;
            const after = isUpdate ? whole : input.Item;
            meter.add("dynamoWriteUnits", used + indexUnits(before, after));
            if (after === undefined) items.delete(pk);
            else items.set(pk, after);
          }
          return result;
        } catch (error) {
          if (isWrite) meter.add("dynamoWriteUnits", before === undefined ? 1 : writeUnits(before));
          throw error;
        }
      },
    { step: "initialize" },
  );

  let waiting: Sent[] = [];
  engines.sqs.middlewareStack.add(
    (next) => async (args) => {
      const { MessageBody, Entries = [] }: { MessageBody?: string; Entries?: Entry[] } = Object(
        args.input,
      );
      const bodies =
        MessageBody === undefined ? Entries.map((one) => one.MessageBody) : [MessageBody];
      const result = await next(args);
      meter.add("sqsSends");
      meter.add("sqsRequests", unitsOf(sum(bodies.map((body) => body.length))));
      for (const body of bodies) waiting.push({ body });
      return result;
    },
    { step: "initialize" },
  );
  engines.s3.middlewareStack.add(
    (next, { commandName = "" }) =>
      async (args) => {
        meter.add(commandName === "PutObjectCommand" ? "s3Puts" : "s3Gets");
        return next(args);
      },
    { step: "initialize" },
  );
  const s3 = async () => engines.s3;

  return {
    name: "AWS",
    deliverySize: 25, // infra/aws/stack.ts
    lanes: 25,
    ledger: createDynamoLedger(client, table, retentionMs),
    queue: createSqsQueue({ sqs: engines.sqs, queueUrl, s3, bucket }),
    waiting: () => waiting.length,
    deliver(count) {
      const taken = waiting.slice(0, count);
      waiting = waiting.slice(count);
      meter.add("dialerInvocations");
      for (let start = 0; start < taken.length; start += receivedMax) {
        const some = taken.slice(start, start + receivedMax);
        meter.add("sqsRequests", unitsOf(sum(some.map(({ body }) => body.length))) + 1);
      }
      const attributes = { ApproximateReceiveCount: "1" };
      return taken.map(({ body }) => deliveredBySqs({ body, attributes }, s3, bucket));
    },
    async stop() {
      client.destroy();
      await engines.stop();
    },
  };
}

interface Used {
  CapacityUnits?: number;
}

interface Entry {
  MessageBody: string;
}
