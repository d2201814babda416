import { createServer } from "node:http";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createDynamoClient, type DynamoClient } from "#shared/aws/dynamodb-client.ts";
import * as z from "#shared/lib/zod.ts";

interface FakeIndex {
  keys: string[];
  projection: string;
  /** Looks until a change of it is done; 0: it stands. */
  looksLeft: number;
  isGoing: boolean;
}

/** A table as its settings are seen from outside. */
export interface FakeTable {
  keys: string[];
  ttl: string | undefined;
  hasRecovery: boolean;
  isProtected: boolean;
  indexes: Map<string, FakeIndex>;
  /** Items, as far as they are asked for. */
  items?: Record<string, { S?: string }>[];
}

/** DynamoDB on this machine, as far as the deploy command asks about tables and changes them. */
export interface FakeDynamoDB {
  client: DynamoDBClient;
  /** Reads items. */
  ledger: DynamoClient;
  tables: Map<string, FakeTable>;
  /** Names of the requests that change something. */
  changes: string[];
  stop(): void;
}

export const standing = (keys: readonly string[], projection = "KEYS_ONLY"): FakeIndex => ({
  keys: [...keys],
  projection,
  looksLeft: 0,
  isGoing: false,
});

const schemaOf = (keys: readonly string[]) =>
  keys.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? "HASH" : "RANGE" }));

const askedSchema = z.object({
  TableName: z.string(),
  IndexName: z.optional(z.string()),
  ExpressionAttributeNames: z.optional(z.record(z.string(), z.string())),
  ExpressionAttributeValues: z.optional(z.record(z.string(), z.object({ S: z.string() }))),
  TimeToLiveSpecification: z.optional(
    z.object({ Enabled: z.boolean(), AttributeName: z.string() }),
  ),
  PointInTimeRecoverySpecification: z.optional(
    z.object({ PointInTimeRecoveryEnabled: z.boolean() }),
  ),
  DeletionProtectionEnabled: z.optional(z.boolean()),
  AttributeDefinitions: z.optional(z.array(z.object({ AttributeName: z.string() }))),
  GlobalSecondaryIndexUpdates: z.optional(
    z.array(
      z.object({
        Create: z.optional(
          z.object({
            IndexName: z.string(),
            KeySchema: z.array(z.object({ AttributeName: z.string() })),
            Projection: z.object({ ProjectionType: z.string() }),
          }),
        ),
        Delete: z.optional(z.object({ IndexName: z.string() })),
      }),
    ),
  ),
});
type Asked = z.infer<typeof askedSchema>;

/**
 * Starts a server that speaks the JSON 1.0 protocol of DynamoDB. As its documentation of UpdateTable says, one index is
 * made or removed at a time, and none while another one is being changed.
 */
export async function startDynamoDB(): Promise<FakeDynamoDB> {
  const tables: FakeDynamoDB["tables"] = new Map();
  const changes: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const action = String(request.headers["x-amz-target"]).replace("DynamoDB_20120810.", "");
      const asked = askedSchema.parse(JSON.parse(Buffer.concat(chunks).toString()));
      if (action.startsWith("Update")) changes.push(action);
      const table = tables.get(asked.TableName);
      const answer: object =
        table === undefined
          ? { __type: "ResourceNotFoundException", message: `Table: ${asked.TableName} not found` }
          : answerOf(table, action, asked);
      response.writeHead("__type" in answer ? 400 : 200, {
        "content-type": "application/x-amz-json-1.0",
      });
      response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const endpoint = `http://127.0.0.1:${port}`;
  const account = {
    region: "us-east-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  };
  return {
    client: new DynamoDBClient({ endpoint, ...account }),
    ledger: createDynamoClient({ account, endpoint }),
    tables,
    changes,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function answerOf(table: FakeTable, action: string, asked: Asked): object {
  if (action === "Query") {
    const { IndexName } = asked;
    if (IndexName !== undefined && !table.indexes.has(IndexName)) {
      const message = `The table does not have the specified index: ${IndexName}`;
      return { __type: "ValidationException", message };
    }
    const name = asked.ExpressionAttributeNames?.["#hash"] ?? "";
    const hash = asked.ExpressionAttributeValues?.[":hash"]?.S;
    return { Items: table.items?.filter((item) => item[name]?.S === hash) ?? [] };
  }
  if (action === "DescribeTable") return { Table: describe(table) };
  if (action === "DescribeTimeToLive") {
    return {
      TimeToLiveDescription:
        table.ttl === undefined
          ? { TimeToLiveStatus: "DISABLED" }
          : { TimeToLiveStatus: "ENABLED", AttributeName: table.ttl },
    };
  }
  if (action === "DescribeContinuousBackups") {
    const status = table.hasRecovery ? "ENABLED" : "DISABLED";
    return {
      ContinuousBackupsDescription: {
        ContinuousBackupsStatus: "ENABLED",
        PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: status },
      },
    };
  }
  if (action === "UpdateTimeToLive") table.ttl = asked.TimeToLiveSpecification?.AttributeName;
  else if (action === "UpdateContinuousBackups") table.hasRecovery = true;
  else if (action === "UpdateTable") return updateTable(table, asked);
  else return { __type: "UnknownOperationException", message: action };
  return {};
}

function describe(table: FakeTable) {
  const GlobalSecondaryIndexes = [...table.indexes].map(([IndexName, index]) => {
    const isChanging = index.looksLeft > 0;
    if (isChanging) index.looksLeft -= 1;
    if (isChanging && index.looksLeft === 0 && index.isGoing) table.indexes.delete(IndexName);
    const changing = index.isGoing ? "DELETING" : "CREATING";
    return {
      IndexName,
      KeySchema: schemaOf(index.keys),
      Projection: { ProjectionType: index.projection },
      IndexStatus: isChanging ? changing : "ACTIVE",
    };
  });
  return {
    TableStatus: "ACTIVE",
    KeySchema: schemaOf(table.keys),
    DeletionProtectionEnabled: table.isProtected,
    GlobalSecondaryIndexes,
  };
}

function updateTable(table: FakeTable, asked: Asked): object {
  const refused = (type: string, message: string) => ({ __type: type, message });
  const updates = asked.GlobalSecondaryIndexUpdates ?? [];
  if (updates.length > 1) return refused("LimitExceededException", "one index at a time");
  if ([...table.indexes.values()].some(({ looksLeft }) => looksLeft > 0))
    return refused("ResourceInUseException", "an index is being changed");
  table.isProtected = asked.DeletionProtectionEnabled ?? table.isProtected;
  for (const { Create, Delete } of updates) {
    if (Create !== undefined) {
      const keys = Create.KeySchema.map(({ AttributeName }) => AttributeName);
      const defined = asked.AttributeDefinitions?.map(({ AttributeName }) => AttributeName);
      if (keys.some((key) => defined?.includes(key) !== true))
        return refused("ValidationException", "an attribute is not defined");
      const made = standing(keys, Create.Projection.ProjectionType);
      table.indexes.set(Create.IndexName, { ...made, looksLeft: 2 });
    }
    const gone = table.indexes.get(Delete?.IndexName ?? "");
    if (gone !== undefined) Object.assign(gone, { looksLeft: 2, isGoing: true });
  }
  return {};
}
