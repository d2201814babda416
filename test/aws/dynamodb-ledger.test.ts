import { afterAll, beforeAll } from "vitest";
import { type AwsEngines, startAwsEngines } from "../../infra/local/aws-engines.ts";
import { createDynamoLedger } from "../../shared/ledger/dynamodb-ledger.ts";
import { describeCallLedger } from "../contracts/call-ledger.ts";

let engines: AwsEngines;
let tables = 0;
beforeAll(async () => {
  engines = await startAwsEngines();
});
afterAll(() => engines.stop());

describeCallLedger("DynamoDB", async () => {
  const table = `ledger-${++tables}`;
  await engines.createTable(table);
  return createDynamoLedger(engines.dynamo, table, 60 * 86_400_000);
});
