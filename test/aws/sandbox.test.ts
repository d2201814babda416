import { afterAll, beforeAll } from "vitest";
import { type AwsEngines, startAwsEngines } from "../../infra/local/aws-engines.ts";
import { createDynamoDocuments } from "../../shared/aws/dynamodb-documents.ts";
import { createDynamoLedger } from "../../shared/aws/dynamodb-ledger.ts";
import { randomVersion } from "../../shared/lib/random.ts";
import { describeSandbox } from "../contracts/sandbox.ts";

let engines: AwsEngines;
let tables = 0;
beforeAll(async () => {
  engines = await startAwsEngines();
});
afterAll(() => engines.stop());

describeSandbox("DynamoDB", async (now) => {
  const { dynamo } = engines;
  const table = `sandbox-${++tables}`;
  await engines.createTable(table);
  return {
    ledger: createDynamoLedger(dynamo, table, { retentionMs: 60 * 86_400_000 }),
    documents: createDynamoDocuments(dynamo, table, { now, freshVersion: randomVersion }),
  };
});
