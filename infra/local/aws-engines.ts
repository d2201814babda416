import { mkdirSync } from "node:fs";
import { type ListenOptions, Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ResourceInUseException,
} from "@aws-sdk/client-dynamodb";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { CreateQueueCommand, SQSClient } from "@aws-sdk/client-sqs";
import { startFauxqs } from "fauxqs";
import { createDynamoClient, type DynamoClient } from "#shared/aws/dynamodb-client.ts";
import { dynamoTable, keyTypeOf } from "#shared/aws/dynamodb-table.ts";
import { quickestDynamo, startDynamoEngine } from "./dynamo-engine.ts";

/** Addresses of the engines, for a function's environment and for SDK clients. */
export interface AwsEngines {
  /** Endpoint of SQS and S3. */
  endpoint: string;
  dynamoEndpoint: string;
  /** Variables through which a function's SDK clients reach the engines. */
  variables: Record<string, string>;
  sqs: SQSClient;
  s3: S3Client;
  /** DynamoDB as the functions use it, and the SDK's client for the rest. */
  dynamo: DynamoClient;
  dynamoSdk: DynamoDBClient;
  /** Creates the table if it does not exist. */
  createTable(name: string): Promise<void>;
  createBucket(name: string): Promise<void>;
  /** Resolves to the queue's URL. */
  createQueue(name: string, attributes?: Record<string, string>): Promise<string>;
  stop(): Promise<void>;
}

/** Not secret: the engines require credentials and accept any. */
export const localCredentials = { accessKeyId: "local", secretAccessKey: "local" };
export const localRegion = "us-east-1";

/**
 * Starts SQS and S3 (fauxqs) and DynamoDB (see `startDynamoEngine`) on this machine's loopback interface, with the
 * real protocols. With a `directory` they store their data there, otherwise in memory.
 */
export async function startAwsEngines(
  directory?: string,
  dynamoEngine = quickestDynamo,
): Promise<AwsEngines> {
  if (directory !== undefined) mkdirSync(directory, { recursive: true });
  const fauxqs = await onLoopback(() =>
    startFauxqs({
      port: 0,
      logger: false,
      ...(directory === undefined ? {} : { dataDir: join(directory, "fauxqs") }),
    }),
  );
  const server = await startDynamoEngine(
    dynamoEngine,
    directory === undefined ? undefined : join(directory, "dynamo"),
  );
  const endpoint = `http://127.0.0.1:${fauxqs.port}`;
  const dynamoEndpoint = server.endpoint;
  const options = { region: localRegion, credentials: localCredentials };
  const sqs = new SQSClient({ ...options, endpoint });
  const s3 = new S3Client({ ...options, endpoint, forcePathStyle: true });
  const dynamoSdk = new DynamoDBClient({ ...options, endpoint: dynamoEndpoint });
  return {
    endpoint,
    dynamoEndpoint,
    variables: {
      AWS_REGION: localRegion,
      AWS_ACCESS_KEY_ID: localCredentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: localCredentials.secretAccessKey,
      AWS_ENDPOINT_URL_SQS: endpoint,
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_ENDPOINT_URL_DYNAMODB: dynamoEndpoint,
    },
    sqs,
    s3,
    dynamo: createDynamoClient({ account: options, endpoint: dynamoEndpoint }),
    dynamoSdk,
    createTable: (name) => createTable(dynamoSdk, name),
    async createBucket(name) {
      await s3.send(new CreateBucketCommand({ Bucket: name })).catch((error: unknown) => {
        const exists = error instanceof Error && error.name.startsWith("BucketAlready");
        if (!exists) throw error;
      });
    },
    async createQueue(name, attributes = {}) {
      await sqs.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }));
      // The engine's own URLs name a host that only some resolvers know.
      return `${endpoint}/000000000000/${name}`;
    },
    async stop() {
      for (const client of [sqs, s3, dynamoSdk]) client.destroy();
      await fauxqs.stop();
      await server.stop();
    },
  };
}

/** Creates the ledger's table, unless it exists, and waits until it can be used. */
async function createTable(dynamo: DynamoDBClient, name: string): Promise<void> {
  const keys = (hash: string, range: string) => [
    { AttributeName: hash, KeyType: "HASH" as const },
    { AttributeName: range, KeyType: "RANGE" as const },
  ];
  const { hashKey, rangeKey, indexes } = dynamoTable;
  const names = new Set<string>(
    [dynamoTable, ...Object.values(indexes)].flatMap((one) => [one.hashKey, one.rangeKey]),
  );
  const command = new CreateTableCommand({
    TableName: name,
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: keys(hashKey, rangeKey),
    AttributeDefinitions: [...names].map((one) => ({
      AttributeName: one,
      AttributeType: keyTypeOf(one),
    })),
    GlobalSecondaryIndexes: Object.entries(indexes).map(([index, one]) => ({
      IndexName: index,
      KeySchema: keys(one.hashKey, one.rangeKey),
      Projection: { ProjectionType: "KEYS_ONLY" },
    })),
  });
  await dynamo.send(command).catch((error: unknown) => {
    if (!(error instanceof ResourceInUseException)) throw error;
  });
  const describe = new DescribeTableCommand({ TableName: name });
  while ((await dynamo.send(describe)).Table?.TableStatus !== "ACTIVE") await sleep(5);
}

/**
 * Runs `start` while servers that would listen on every interface listen on the loopback one: fauxqs has no
 * setting for it.
 */
async function onLoopback<Result>(start: () => Promise<Result>): Promise<Result> {
  const { listen } = Server.prototype;
  function listenOnLoopback(this: Server, options: ListenOptions, ...rest: unknown[]): Server {
    const loopback = { ...options, host: "127.0.0.1" };
    return Reflect.apply(listen, this, [loopback, ...rest]);
  }
  Object.assign(Server.prototype, { listen: listenOnLoopback });
  try {
    return await start();
  } finally {
    Server.prototype.listen = listen;
  }
}
