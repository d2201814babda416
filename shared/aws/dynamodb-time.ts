import { type DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";

/** Key of an item that need not exist: only the answer's `Date` is of interest. */
const anyKey = { pk: { S: "doc#dispatcher#dispatcher" }, sk: { S: "dispatcher" } };

/** Creates the function that returns DynamoDB's time, by the `Date` of an answer. It is exact to a second. */
export function createDynamoTime(client: DynamoDBClient, table: string): () => Promise<number> {
  return async () => {
    let at = NaN;
    const asked = { TableName: table, Key: anyKey, ProjectionExpression: "pk" };
    const command = new GetItemCommand(asked);
    command.middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        at = Date.parse(dateOf(result.response) ?? "");
        return result;
      },
      { step: "deserialize", name: "storeTime" },
    );
    await client.send(command);
    if (Number.isNaN(at)) throw new Error("an answer of DynamoDB has no Date");
    return at;
  };
}

function dateOf(response: unknown): string | undefined {
  const headers: unknown = isObject(response) ? response["headers"] : undefined;
  const date = isObject(headers) ? headers["date"] : undefined;
  return typeof date === "string" ? date : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
