import { setTimeout as sleep } from "node:timers/promises";
import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  type TableDescription,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { dynamoTable, keyTypeOf } from "#shared/aws/dynamodb-table.ts";
import { orSentence } from "./aws-cdk.ts";
import { changeOf, type Indexes, targetIndexes } from "./aws-indexes.ts";
import { DeployError, type Tools } from "./tools.ts";

/** A way to tables, with the pause between two looks at one that changes. */
export interface TableDeps {
  dynamo: DynamoDBClient;
  print: Tools["print"];
  pauseMs?: number;
}

const pauseMsDefault = 5_000;
/** Maximum time for which a change of an index is awaited. */
const changeMsMax = 30 * 60_000;

/**
 * Checks a table of the ledger, and restores what it lacks after a restore: time to live, point-in-time recovery and protection
 * against deletion.
 *
 * @throws DeployError if there is no such table, or its keys are not those of the ledger
 */
export async function fixTable(TableName: string, deps: TableDeps): Promise<void> {
  const { dynamo, print } = deps;
  const table = await describe(TableName, deps);
  const keys = table.KeySchema?.map(({ AttributeName }) => AttributeName).join();
  if (keys !== `${dynamoTable.hashKey},${dynamoTable.rangeKey}`) {
    throw new DeployError(`The table ${TableName} has the keys ${keys}: it is no ledger.`);
  }
  const { ttl: AttributeName } = dynamoTable;
  const live = await orSentence(() => dynamo.send(new DescribeTimeToLiveCommand({ TableName })));
  const { TimeToLiveStatus = "", AttributeName: current } = live.TimeToLiveDescription ?? {};
  if (!TimeToLiveStatus.startsWith("ENABL") || current !== AttributeName) {
    const TimeToLiveSpecification = { Enabled: true, AttributeName };
    await orSentence(() =>
      dynamo.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification })),
    );
    print(`Fixed ${TableName}: time to live, by which rows past their retention are deleted.`);
  }
  const backups = await orSentence(() =>
    dynamo.send(new DescribeContinuousBackupsCommand({ TableName })),
  );
  const recovery = backups.ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
  if (recovery?.PointInTimeRecoveryStatus !== "ENABLED") {
    const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true };
    await orSentence(() =>
      dynamo.send(
        new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification }),
      ),
    );
    print(`Fixed ${TableName}: point-in-time recovery.`);
  }
  if (table.DeletionProtectionEnabled !== true) {
    await update({ TableName, DeletionProtectionEnabled: true }, deps);
    print(`Fixed ${TableName}: protection against deletion.`);
  }
}

/** Returns the indexes of a table, those too that are being made. @throws DeployError if there is no such table */
export async function readIndexes(table: string, deps: TableDeps): Promise<Indexes> {
  const { GlobalSecondaryIndexes = [] } = await describe(table, deps);
  return Object.fromEntries(
    GlobalSecondaryIndexes.map(({ IndexName = "", KeySchema = [], Projection }) => {
      const [hashKey = "", rangeKey = ""] = KeySchema.map(
        ({ AttributeName = "" }) => AttributeName,
      );
      const hasKeysOnly = Projection?.ProjectionType === "KEYS_ONLY";
      return [IndexName, { hashKey, rangeKey, ...(hasKeysOnly ? {} : { hasMore: true }) }];
    }),
  );
}

/**
 * Makes the indexes that a table outside the stack lacks, or removes those that this version does not use, one after
 * another, as DynamoDB changes one at a time.
 *
 * @throws DeployError if an index takes longer than half an hour: what was begun continues
 */
export async function changeIndexes(
  TableName: string,
  kind: "add" | "remove",
  deps: TableDeps,
): Promise<void> {
  const current = await readIndexes(TableName, deps);
  for (const IndexName of changeOf(current, targetIndexes)[kind]) {
    deps.print(`Index ${IndexName} of ${TableName}: ${kind === "add" ? "made" : "removed"} now …`);
    const { hashKey = "", rangeKey = "" } = targetIndexes[IndexName] ?? {};
    const KeySchema = [
      { AttributeName: hashKey, KeyType: "HASH" as const },
      { AttributeName: rangeKey, KeyType: "RANGE" as const },
    ];
    const Projection = { ProjectionType: "KEYS_ONLY" as const };
    await update(
      kind === "add"
        ? {
            TableName,
            AttributeDefinitions: [hashKey, rangeKey].map((AttributeName) => ({
              AttributeName,
              AttributeType: keyTypeOf(AttributeName),
            })),
            GlobalSecondaryIndexUpdates: [{ Create: { IndexName, KeySchema, Projection } }],
          }
        : { TableName, GlobalSecondaryIndexUpdates: [{ Delete: { IndexName } }] },
      deps,
    );
  }
}

async function describe(TableName: string, { dynamo }: TableDeps): Promise<TableDescription> {
  const { Table } = await orSentence(() => dynamo.send(new DescribeTableCommand({ TableName })));
  if (Table === undefined) throw new DeployError(`There is no table ${TableName}.`);
  return Table;
}

/** Changes a table, and waits until the change is made. */
async function update(
  input: ConstructorParameters<typeof UpdateTableCommand>[0],
  deps: TableDeps,
): Promise<void> {
  const { dynamo, pauseMs = pauseMsDefault } = deps;
  const TableName = input.TableName ?? "";
  await awaitActive(TableName, { pauseMs }, deps);
  await orSentence(() => dynamo.send(new UpdateTableCommand(input)));
  await awaitActive(TableName, { pauseMs }, deps);
}

async function awaitActive(
  TableName: string,
  { pauseMs }: { pauseMs: number },
  deps: TableDeps,
): Promise<void> {
  for (let waitedMs = 0; waitedMs <= changeMsMax; waitedMs += pauseMs) {
    const { TableStatus, GlobalSecondaryIndexes = [] } = await describe(TableName, deps);
    const isChanging = GlobalSecondaryIndexes.some(({ IndexStatus }) => IndexStatus !== "ACTIVE");
    if (TableStatus === "ACTIVE" && !isChanging) return;
    await sleep(pauseMs);
  }
  throw new DeployError(
    `The table ${TableName} is still changing after half an hour. DynamoDB continues by itself: run this again later.`,
  );
}
