import {
  createR2DeadLetters,
  createR2EpochStore,
  createR2Journal,
} from "#shared/cloudflare/r2-stores.ts";
import { createS3DeadLetters, createS3EpochStore, createS3Journal } from "#shared/aws/s3-stores.ts";
import { type AttributeValue, PutItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from "@aws-sdk/client-s3";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { readD1Migrations } from "@cloudflare/vitest-plugin";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { startAwsEngines } from "#infra/local/aws-engines.ts";
import { createDynamoDocuments } from "#shared/aws/dynamodb-documents.ts";
import { createDynamoLedger } from "#shared/aws/dynamodb-ledger.ts";
import { createSqsQueue, toSqsDelivery } from "#shared/aws/sqs-queue.ts";
import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { rowColumns } from "#shared/cloudflare/d1-rows.ts";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { createCloudflareQueue, toCloudflareDelivery } from "#shared/cloudflare/queue.ts";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import { dayMs } from "#shared/lib/units.ts";
import type { CallQueue, Delivered } from "#shared/ports/queue.ts";
import { d1Worker, openD1 } from "./d1-by-requests.ts";
import { type Stored, toItem, toJson } from "./items.ts";
import type * as reader from "./reader.ts";

export type Reader = typeof reader;
export type PlatformName = "cloudflare" | "aws";

/** Content of a ledger and its object store. */
export interface StoredParts {
  /** `calls` and `documents` of D1; `items` of DynamoDB. */
  tables: Record<string, Stored[]>;
  objects: Record<string, string>;
}

/** Receives a body as the queue's engine would. */
type Take = (body: string, delaySeconds: number) => void;

/** A platform's engines on this machine, empty at first, and its adapters over them. */
export interface UpgradePlatform {
  name: PlatformName;
  /** @param now clock of the documents, and of lists by time */
  createPorts(
    now: () => number,
    freshVersion: () => string,
  ): Pick<DialerDeps, "ledger" | "documents" | "epochStore" | "deadLetters" | "journal">;
  createQueue<Sent>(take: Take): CallQueue<Sent>;
  toDelivered(message: { id: string; body: string; attempt: number }): Delivered;
  load(stored: StoredParts): Promise<void>;
  dump(): Promise<StoredParts>;
  /** Reads all rows of calls by a version's reader. Undefined: it cannot read that row. */
  readRows(stored: StoredParts, by: Reader): ReturnType<Reader["readD1Row"]>[];
  readDocuments(stored: StoredParts, by: Reader): ReturnType<Reader["readD1Document"]>[];
  stop(): Promise<void>;
}

const retentionMs = 60 * dayMs;
/** Columns of D1's tables. Those of bytes are read as hexadecimal digits. */
const columns = {
  calls: `${rowColumns}, client, campaign, agent_id`,
  documents: "kind, key, version, expires_at, value",
};
const bytesColumns = new Set(["number_hash", "row", "context"]);

/** Starts D1 and R2 in workerd. The queue is the test's. */
export async function startCloudflare(): Promise<UpgradePlatform> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      cf: false,
      telemetry: { enabled: false },
      modules: [{ type: "ESModule" as const, path: "d1.js", contents: d1Worker }],
      compatibilityDate: "2026-10-30",
      d1Databases: ["LEDGER"],
      r2Buckets: ["ENVELOPES"],
    }),
  );
  const database = openD1(miniflare);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Miniflare's own type is of another compatibility date
  const bucket = (await miniflare.getR2Bucket("ENVELOPES")) as unknown as R2Bucket;
  for (const { queries } of await readD1Migrations("infra/d1")) {
    for (const query of queries) await database.prepare(query).run();
  }
  return {
    name: "cloudflare",
    createPorts: (now, freshVersion) => ({
      ledger: createD1Ledger(database),
      documents: createD1Documents(database, { now, freshVersion }),
      epochStore: createR2EpochStore(bucket),
      deadLetters: createR2DeadLetters(bucket),
      journal: createR2Journal(bucket),
    }),
    createQueue: (take) => createCloudflareQueue(takingQueue(take), bucket),
    toDelivered: ({ id, body, attempt }) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the fields that the adapter reads
      toCloudflareDelivery({ id, body, attempts: attempt } as Message, bucket),
    async load({ tables, objects }) {
      const inserts = Object.keys(columns).flatMap((table) =>
        (tables[table] ?? []).map((row) => {
          const names = Object.keys(row);
          const places = names.map((name) =>
            bytesColumns.has(name) ? "unhex(nullif(?, ''))" : "?",
          );
          return database
            .prepare(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${places.join(", ")})`)
            .bind(...Object.values(row));
        }),
      );
      if (inserts.length > 0) await database.batch(inserts);
      for (const [key, text] of Object.entries(objects)) await bucket.put(key, text);
    },
    async dump() {
      const tables: StoredParts["tables"] = {};
      for (const [table, names] of Object.entries(columns)) {
        const sql = `SELECT ${names} FROM ${table} ORDER BY 1, 2`;
        tables[table] = (await database.prepare(sql).all<Stored>()).results;
      }
      const { objects: listed } = await bucket.list();
      const objects: StoredParts["objects"] = {};
      for (const { key } of listed) objects[key] = (await (await bucket.get(key))?.text()) ?? "";
      return { tables, objects };
    },
    readRows: ({ tables }, by) => (tables["calls"] ?? []).map(by.readD1Row),
    readDocuments: ({ tables }, by) => (tables["documents"] ?? []).map(by.readD1Document),
    stop: () => miniflare.dispose(),
  };
}

/** Returns a binding of Queues whose messages the test takes. */
function takingQueue(take: Take): Queue {
  const send = async (body: unknown, { delaySeconds = 0 }: QueueSendOptions = {}) =>
    take(String(body), delaySeconds);
  const sendBatch = async (batch: Iterable<MessageSendRequest>) => {
    for (const { body, delaySeconds = 0 } of batch) take(String(body), delaySeconds);
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the methods that the adapter calls
  return { send, sendBatch } as unknown as Queue;
}

/** Starts the stand-ins of DynamoDB and S3. The queue is the test's. */
export async function startAws(): Promise<UpgradePlatform> {
  const { dynamo, dynamoSdk, s3, createTable, createBucket, stop } = await startAwsEngines();
  const table = "outbound-calls";
  await createTable(table);
  await createBucket(table);
  const openS3 = async () => s3;
  const itemsOf = ({ tables }: StoredParts) => (tables["items"] ?? []).map(toItem);
  const isCall = (item: Record<string, AttributeValue>) => item["pk"]?.S?.startsWith("call#");
  return {
    name: "aws",
    createPorts: (now, freshVersion) => ({
      ledger: createDynamoLedger(dynamo, table, { retentionMs, now }),
      documents: createDynamoDocuments(dynamo, table, { now, freshVersion }),
      epochStore: createS3EpochStore(openS3, table),
      deadLetters: createS3DeadLetters(openS3, table),
      journal: createS3Journal(openS3, table),
    }),
    createQueue: (take) =>
      createSqsQueue({ sqs: takingSqs(take), queueUrl: "queue", s3: openS3, bucket: table }),
    toDelivered: ({ id, body, attempt }) =>
      toSqsDelivery(
        { messageId: id, body, attributes: { ApproximateReceiveCount: String(attempt) } },
        openS3,
        table,
      ),
    async load(stored) {
      for (const Item of itemsOf(stored)) {
        await dynamoSdk.send(new PutItemCommand({ TableName: table, Item }));
      }
      for (const [Key, Body] of Object.entries(stored.objects)) {
        await s3.send(new PutObjectCommand({ Bucket: table, Key, Body }));
      }
    },
    async dump() {
      const { Items = [] } = await dynamoSdk.send(new ScanCommand({ TableName: table }));
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: table }));
      const objects: StoredParts["objects"] = {};
      for (const { Key = "" } of Contents) {
        const { Body } = await s3.send(new GetObjectCommand({ Bucket: table, Key }));
        objects[Key] = (await Body?.transformToString()) ?? "";
      }
      const keyIn = ({ pk, sk }: (typeof Items)[number]) => `${pk?.S} ${sk?.S}`;
      const sorted = Items.toSorted((one, other) => (keyIn(one) < keyIn(other) ? -1 : 1));
      return { tables: { items: sorted.map(toJson) }, objects };
    },
    readRows: (stored, by) => itemsOf(stored).filter(isCall).map(by.readItem),
    readDocuments: (stored, by) =>
      itemsOf(stored)
        .filter((item) => !isCall(item))
        .map(by.readDocumentItem),
    stop,
  };
}

/** Returns a client of SQS whose messages the test takes. */
function takingSqs(take: Take): SQSClient {
  interface Entry {
    MessageBody?: string;
    DelaySeconds?: number;
  }
  const send = async ({ input }: { input: Entry & { Entries?: Entry[] } }) => {
    for (const { MessageBody = "", DelaySeconds = 0 } of input.Entries ?? [input]) {
      take(MessageBody, DelaySeconds);
    }
    return {};
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the method that the adapter calls
  return { send } as unknown as SQSClient;
}
