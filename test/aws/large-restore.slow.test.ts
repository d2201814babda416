import { BatchWriteItemCommand } from "@aws-sdk/client-dynamodb";
import { createDynamoDocuments } from "#shared/aws/dynamodb-documents.ts";
import { allEnded } from "#shared/aws/dynamodb-items.ts";
import { createDynamoLedger } from "#shared/aws/dynamodb-ledger.ts";
import { toItem } from "#shared/aws/dynamodb-rows.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { describeLargeRestore } from "../contracts/large-restore.ts";
import { describeLongJournal } from "../contracts/long-journal.ts";
import { between } from "../support/aws/dynamo-between.ts";
import { createDutiesBench } from "../support/duties-bench.ts";
import { writeRows } from "../support/rows.ts";
import { useAwsEngines } from "./use-engines.ts";

const engines = useAwsEngines();
const retentionMs = 60 * 86_400_000;
const itemsMax = 25;
/**
 * Time that passes with each request: more than what one costs a function of 512 MB, which has 0.29 of a CPU. A conditional
 * put took 0.35 ms of a whole one, on a busy machine 0.7.
 */
const requestMs = 2.5;

let tables = 0;

/** Creates a bench over DynamoDB, in which each request takes its time while a minute's crons run. */
async function create() {
  const { dynamo: unmeasured, dynamoSdk, createTable } = engines();
  const table = `large-restore-${++tables}`;
  await createTable(table);
  const bench = createDutiesBench();
  const { deps, now } = bench;
  let isServing = false;
  const dynamo = between(unmeasured, (_, send) => {
    if (isServing) bench.advance(requestMs);
    return send();
  });
  const documents = createDynamoDocuments(dynamo, table, {
    now,
    freshVersion: deps.random.version,
  });
  deps.ledger = createDynamoLedger(dynamo, table, { retentionMs, now });
  deps.documents = { ...documents, storeTime: async () => now() };
  deps.statementsLeft = () => Infinity;
  deps.dispatcher = { ...deps.dispatcher, endsIdle: true };
  return {
    ...bench,
    async write(rows: readonly CallRow[]) {
      // Only the documents of their backlogs: 25 rows at once are quicker than one by one.
      await writeRows(
        rows,
        { ...deps.ledger, write: async (all) => all.map(() => true) },
        documents,
      );
      const batches = Array.from({ length: Math.ceil(rows.length / itemsMax) }, (_, n) =>
        rows.slice(n * itemsMax, (n + 1) * itemsMax),
      );
      await allEnded(batches, async (batch) => {
        const puts = batch.map((row) => ({
          PutRequest: { Item: toItem(row, row.acceptedAt + retentionMs) },
        }));
        await dynamoSdk.send(new BatchWriteItemCommand({ RequestItems: { [table]: puts } }));
      });
    },
    async minute() {
      isServing = true;
      const most = await bench.minute();
      isServing = false;
      return most;
    },
  };
}

describeLargeRestore("DynamoDB", create, { backlogs: 500, calls: 5 });
// D1 tells the same story in the gate: `npm run test:schedules` tells it here, at full size.
if (process.env["LONG"] === "1") describeLongJournal("DynamoDB", create);
