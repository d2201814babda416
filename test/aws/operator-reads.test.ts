import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type AwsEngines,
  localCredentials,
  localRegion,
  startAwsEngines,
} from "../../infra/local/aws-engines.ts";
import { createDynamoLedger } from "../../shared/ledger/dynamodb-ledger.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import { aCall } from "../support/calls.ts";
import { apiEnvironment } from "../support/environment.ts";
import { readsOfFirstPages } from "../support/operator-reads.ts";

let engines: AwsEngines;
beforeAll(async () => {
  engines = await startAwsEngines();
  await engines.createTable("ledger");
});
afterAll(() => engines.stop());

it("reads a bounded number of items for any first page, however many calls there are", async () => {
  // By what each answer says that it has looked at.
  let itemsRead = 0;
  const client = new DynamoDBClient({
    region: localRegion,
    credentials: localCredentials,
    endpoint: engines.dynamoEndpoint,
  });
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { ScannedCount = 0, Responses = {}, Item } = Object(result.output);
      itemsRead += ScannedCount + (Item === undefined ? 0 : 1);
      for (const items of Object.values(Responses))
        itemsRead += Array.isArray(items) ? items.length : 0;
      return result;
    },
    { step: "deserialize" },
  );
  const ledger = createDynamoLedger(client, "ledger", 86_400_000);
  let sequence = 0;
  const fill = async (count: number) => {
    const writes = Array.from({ length: count }, () => {
      const n = sequence++;
      const call = aCall({
        requestId: n % 3 === 0 ? "req_much" : `req_${n}`,
        acceptedAt: Date.now() - n * 1000,
      });
      const trace = traceOfNumber(
        n % 3 === 1 ? "+12025550123" : "+12025550199",
        apiEnvironment.HASH_KEY,
      );
      const state = (["DEFERRED", "PARKED", "EXPIRED"] as const)[n % 3] ?? "PARKED";
      return { call, ...trace, state, reason: "r", dueAt: 9e12, at: Date.now(), seenDueAt: null };
    });
    for (let start = 0; start < count; start += 100)
      await ledger.defer(writes.slice(start, start + 100));
  };
  await fill(1500);
  const reads = await readsOfFirstPages(ledger, () => itemsRead);
  await fill(3000);
  const after = await readsOfFirstPages(ledger, () => itemsRead);
  client.destroy();
  // A page is looked for in eight shards, and a filter looks at a thousand rows.
  expect(Math.max(...Object.values(after))).toBeLessThanOrEqual(8 * 1000 + 2500);
  for (const path of [
    "/calls?state=DEFERRED",
    "/calls?request_id=req_much",
    "/calls/search",
    "/holds",
  ]) {
    expect([path, after[path]]).toEqual([path, reads[path]]);
    expect(after[path]).toBeLessThanOrEqual(500);
  }
}, 120_000);
