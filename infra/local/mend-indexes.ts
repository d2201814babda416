import {
  type AttributeValue,
  DeleteItemCommand,
  type DynamoDBClient,
  paginateScan,
  PutItemCommand,
} from "@aws-sdk/client-dynamodb";
import { dynamoTable } from "../../shared/aws/dynamodb-table.ts";

type Item = Record<string, AttributeValue>;

/**
 * Repairs the local server's indexes so that they match its table. The server writes an item and its index
 * entries one after another, so a SIGKILL may come in between, and sweeps would never find an item without
 * index entries. DynamoDB itself keeps its indexes from the table's log, and loses nothing.
 */
export async function mendIndexes(dynamo: DynamoDBClient, table: string): Promise<void> {
  const scan = async (index?: string): Promise<Item[]> => {
    const found: Item[] = [];
    const query = { TableName: table, ...(index === undefined ? {} : { IndexName: index }) };
    for await (const { Items = [] } of paginateScan({ client: dynamo }, query)) {
      found.push(...Items);
    }
    return found;
  };
  const put = (item: Item) => dynamo.send(new PutItemCommand({ TableName: table, Item: item }));
  const keys = [dynamoTable.hashKey, dynamoTable.rangeKey];
  const nameOf = (item: Item) => JSON.stringify(keys.map((key) => item[key]?.S));
  const items = new Map((await scan()).map((item) => [nameOf(item), item]));

  for (const [index, { hashKey, rangeKey }] of Object.entries(dynamoTable.indexes)) {
    const placeOf = (item: Item = {}) =>
      item[hashKey] && item[rangeKey] && JSON.stringify([item[hashKey].S, item[rangeKey].S]);
    const placed = new Set<string>();
    for (const entry of await scan(index)) {
      const item = items.get(nameOf(entry));
      if (placeOf(entry) === placeOf(item)) {
        placed.add(nameOf(entry));
        continue;
      }
      // A stale index entry disappears once an item with its keys is written and then replaced or deleted.
      await put({ ...item, ...pick(entry, [...keys, hashKey, rangeKey]) });
      if (item !== undefined) await put(item);
      else await dynamo.send(new DeleteItemCommand({ TableName: table, Key: pick(entry, keys) }));
    }
    for (const [name, item] of items) {
      if (placeOf(item) !== undefined && !placed.has(name)) await put(item);
    }
  }
}

function pick(item: Item, names: string[]): Item {
  return Object.fromEntries(names.flatMap((name) => (item[name] ? [[name, item[name]]] : [])));
}
