import { paginateScan, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type AwsEngines, startAwsEngines } from "../../infra/local/aws-engines.ts";
import { createDynamoLedger } from "../../shared/ledger/dynamodb-ledger.ts";
import { describeCallLedger } from "../contracts/call-ledger.ts";
import { aCall } from "../support/calls.ts";

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

it("reads a row whose call was written with its id, request, client and time", async () => {
  const table = `ledger-${++tables}`;
  await engines.createTable(table);
  const ledger = createDynamoLedger(engines.dynamo, table, 60 * 86_400_000);
  const call = aCall({ redialOf: "call_before" });
  const row = { call, numberHash: "hash", numberTail: "23", at: 1_000_000, seenDueAt: null };
  await ledger.defer([{ ...row, state: "DEFERRED", reason: "pace", dueAt: 2_000_000 }]);
  expect((await ledger.read([call.id])).get(call.id)?.call).toEqual(call);

  await engines.dynamo.send(
    new UpdateItemCommand({
      TableName: table,
      Key: { pk: { S: `call#${call.id}` } },
      UpdateExpression: "SET #call = :call",
      ExpressionAttributeNames: { "#call": "call" },
      ExpressionAttributeValues: { ":call": { S: JSON.stringify(call) } },
    }),
  );
  expect((await ledger.read([call.id])).get(call.id)?.call).toEqual(call);
});
