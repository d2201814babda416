import { paginateScan } from "@aws-sdk/client-dynamodb";
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
  return {
    ledger: createDynamoLedger(engines.dynamo, table, 60 * 86_400_000),
    async stored(now) {
      const left: unknown[] = [];
      for await (const { Items = [] } of paginateScan(
        { client: engines.dynamo },
        { TableName: table },
      )) {
        // DynamoDB deletes what is past its `ttl` within a few days; the local server does not.
        left.push(...Items.filter(({ ttl }) => Number(ttl?.N ?? Infinity) * 1000 > now));
      }
      return JSON.stringify(left);
    },
  };
});
