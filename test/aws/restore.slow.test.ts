import { createS3EpochStore, createS3Journal } from "#shared/aws/s3-stores.ts";
import { describeJournal } from "../contracts/journal.ts";
import { PutItemCommand, ScanCommand, DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { dynamoTable } from "#shared/aws/dynamodb-table.ts";
import { describeEpochStore } from "../contracts/epoch-store.ts";
import { describeRestore } from "../contracts/restore.ts";
import { createDynamoStores, useAwsEngines } from "./use-engines.ts";

const engines = useAwsEngines();
let tables = 0;

describeRestore("DynamoDB", async (now) => {
  const { dynamoSdk, s3, createBucket } = engines();
  const TableName = `restored-${++tables}`;
  const bucket = TableName;
  await createBucket(bucket);
  const scan = async () => (await dynamoSdk.send(new ScanCommand({ TableName }))).Items ?? [];
  return {
    ...(await createDynamoStores(engines(), TableName, now)),
    epochStore: createS3EpochStore(async () => s3, bucket),
    journal: createS3Journal(async () => s3, bucket),
    async copy() {
      const items = await scan();
      return async () => {
        for (const item of await scan()) {
          const Key = Object.fromEntries(
            [dynamoTable.hashKey, dynamoTable.rangeKey].map((name) => [
              name,
              item[name] ?? { S: "" },
            ]),
          );
          await dynamoSdk.send(new DeleteItemCommand({ TableName, Key }));
        }
        for (const Item of items) await dynamoSdk.send(new PutItemCommand({ TableName, Item }));
      };
    },
  };
});

describeEpochStore("S3", async () => {
  const bucket = `epochs-${++tables}`;
  await engines().createBucket(bucket);
  return createS3EpochStore(async () => engines().s3, bucket);
});

describeJournal("S3", async () => {
  const bucket = `journals-${++tables}`;
  await engines().createBucket(bucket);
  return createS3Journal(async () => engines().s3, bucket);
});
