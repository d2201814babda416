import type { DynamoClient } from "./dynamodb-client.ts";

/** Key of an item that need not exist: only the answer's `Date` is of interest. */
const anyKey = { pk: { S: "doc#dispatcher#dispatcher" }, sk: { S: "dispatcher" } };

/** Creates the function that returns DynamoDB's time, by the `Date` of an answer. It is exact to a second. */
export function createDynamoTime(client: DynamoClient, table: string): () => Promise<number> {
  return async () => {
    const asked = { TableName: table, Key: anyKey, ProjectionExpression: "pk" };
    const at = Date.parse((await client.send("GetItem", asked)).date ?? "");
    if (Number.isNaN(at)) throw new Error("an answer of DynamoDB has no Date");
    return at;
  };
}
