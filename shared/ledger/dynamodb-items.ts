import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  QueryCommand,
} from "@aws-sdk/client-dynamodb";
import { dynamoTable, type Item, number, text } from "./dynamodb-table.ts";

/** How the ledger reads and conditionally writes items of its table. */
export type DynamoItems = ReturnType<typeof createDynamoItems>;

export function createDynamoItems(client: DynamoDBClient, table: string) {
  const get = async (pk: string): Promise<Item | undefined> => {
    const found = await client.send(
      new GetItemCommand({ TableName: table, Key: { pk: text(pk) }, ConsistentRead: true }),
    );
    return found.Item;
  };

  /** Runs a conditional write. Undefined: refused. */
  async function unlessRefused<Output>(write: () => Promise<Output>): Promise<Output | undefined> {
    try {
      return await write();
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return undefined;
      throw error;
    }
  }
  const conditional = async (write: () => Promise<object>): Promise<boolean> =>
    (await unlessRefused(write)) !== undefined;

  /** One page of every given shard of an index, merged in the order of the sort key. */
  async function query(
    index: keyof typeof dynamoTable.indexes,
    shardNames: string[],
    range: {
      after?: string;
      before?: string;
      descending?: boolean;
      /** Only items last written before then. */
      writtenBefore?: number;
      limit: number;
    },
  ): Promise<Item[]> {
    const { hashKey, rangeKey } = dynamoTable.indexes[index];
    const { after = " ", before = "~", descending = false, writtenBefore, limit } = range;
    const pages = await Promise.all(
      shardNames.map(async (shard) => {
        const items: Item[] = [];
        let start: Item | undefined;
        do {
          const page = await client.send(
            new QueryCommand({
              TableName: table,
              IndexName: index,
              KeyConditionExpression: "#hash = :shard AND #range BETWEEN :after AND :before",
              ExpressionAttributeNames: { "#hash": hashKey, "#range": rangeKey },
              ...(writtenBefore === undefined ? {} : { FilterExpression: "updatedAt < :written" }),
              ExpressionAttributeValues: {
                ":shard": text(shard),
                ":after": text(after),
                ":before": text(before),
                ...(writtenBefore === undefined ? {} : { ":written": number(writtenBefore) }),
              },
              ScanIndexForward: !descending,
              Limit: limit,
              ...(start === undefined ? {} : { ExclusiveStartKey: start }),
            }),
          );
          items.push(...(page.Items ?? []));
          start = page.LastEvaluatedKey;
        } while (start !== undefined && items.length < limit);
        return items;
      }),
    );
    const keyOf = (item: Item) => item[rangeKey]?.S ?? "";
    const sign = descending ? -1 : 1;
    return pages
      .flat()
      .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -sign : sign))
      .slice(0, limit);
  }

  return { get, unlessRefused, conditional, query };
}
