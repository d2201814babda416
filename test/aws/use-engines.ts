import type { DynamoEngineName } from "#infra/local/dynamo-engine.ts";
import { afterAll, beforeAll, inject } from "vitest";
import { type AwsEngines, startAwsEngines } from "#infra/local/aws-engines.ts";
import { createDynamoDocuments } from "#shared/aws/dynamodb-documents.ts";
import { createDynamoLedger } from "#shared/aws/dynamodb-ledger.ts";
import { randomVersion } from "#shared/lib/random.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The DynamoDB server, where it is not the quickest one that this machine has. */
    dynamoEngine?: DynamoEngineName;
  }
}

/** Starts the local engines of AWS before the tests of a file, and stops them after the tests. */
export function useAwsEngines(): () => AwsEngines {
  let engines: AwsEngines | undefined;
  beforeAll(async () => {
    engines = await startAwsEngines(undefined, inject("dynamoEngine"));
  });
  afterAll(() => engines?.stop());
  return () => {
    if (engines === undefined) throw new Error("the engines have not started");
    return engines;
  };
}

/** Creates a table, with a ledger that keeps rows for 60 days and documents in it. */
export async function createDynamoStores(
  { dynamo, createTable }: AwsEngines,
  table: string,
  now: () => number,
) {
  await createTable(table);
  return {
    ledger: createDynamoLedger(dynamo, table, { retentionMs: 60 * 86_400_000 }),
    documents: createDynamoDocuments(dynamo, table, { now, freshVersion: randomVersion }),
  };
}
