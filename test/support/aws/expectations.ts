import { expect } from "vitest";
import { targetIndexes } from "#infra/cli/deploy/aws-indexes.ts";
import type { Deployment } from "./deployment.ts";
import { standing } from "./dynamodb.ts";

/** Expects one whole deployment, protected, whose only table and secrets are its own. */
export function expectWhole({ account, secretValues, stack }: Deployment): void {
  const { dynamo, secrets } = account;
  expect(stack()).toMatchObject({ isProtected: true, status: expect.stringMatching(/_COMPLETE$/) });
  expect([...dynamo.tables.values()].map(({ isProtected }) => isProtected)).toEqual([true]);
  expect(secrets.secrets.size).toBe(2);
  expect(secretValues()).toMatchObject({
    API_TOKENS: [{ id: "first" }],
    HASH_KEY: "ab".repeat(32),
    EVENTS_KEY: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
}

/**
 * Has a deployment stand that uses a table which DynamoDB has restored from a point in time.
 *
 * @returns name of the stack's own table
 */
export function putRestored({ account, ownTable, set, stand }: Deployment): string {
  const indexes = Object.entries(targetIndexes).map(
    ([name, { hashKey, rangeKey }]) => [name, standing([hashKey, rangeKey])] as const,
  );
  account.dynamo.tables.set("restored", {
    keys: ["pk", "sk"],
    ttl: undefined,
    hasRecovery: false,
    isProtected: false,
    indexes: new Map(indexes),
  });
  set({ ledgerTable: "restored" });
  stand();
  return ownTable() ?? "";
}

/** Expects that the restored table is the stack's own, and that no other was made beside the former one. */
export function expectImported({ account, ownTable, settings }: Deployment, former: string): void {
  expect(ownTable()).toBe("restored");
  expect(settings()).toEqual({ alarmEmail: "ada@example.com" });
  const { tables } = account.dynamo;
  expect([...tables.keys()].toSorted()).toEqual([former, "restored"].toSorted());
  expect([...tables.values()].every(({ isProtected }) => isProtected)).toBe(true);
}
