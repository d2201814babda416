import {
  type AttributeValue,
  DeleteItemCommand,
  type DynamoDBClient,
  paginateScan,
  PutItemCommand,
} from "@aws-sdk/client-dynamodb";
import { dynamoTable } from "../../shared/ledger/dynamodb-table.ts";

type Item = Record<string, AttributeValue>;

/**
 * Makes the local server's indexes say what its table says. It writes an item and its index entries one after
 * another, so a SIGKILL may come in between: an item that no index has is one that no sweep finds again. DynamoDB
 * itself keeps its indexes from the table's log, and loses nothing.
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
  const { hashKey: key } = dynamoTable;
  const items = new Map((await scan()).map((item) => [item[key]?.S, item]));

  for (const [index, { hashKey, rangeKey }] of Object.entries(dynamoTable.indexes)) {
    const placeOf = (item: Item = {}) =>
      item[hashKey] && item[rangeKey] && JSON.stringify([item[hashKey].S, item[rangeKey].S]);
    const placed = new Set<string | undefined>();
    for (const entry of await scan(index)) {
      const item = items.get(entry[key]?.S);
      if (placeOf(entry) === placeOf(item)) {
        placed.add(entry[key]?.S);
        continue;
      }
      // An entry of a write that was not made: an item of its keys, replaced or deleted, takes it along.
      await put({ ...item, ...pick(entry, [key, hashKey, rangeKey]) });
      if (item !== undefined) await put(item);
      else await dynamo.send(new DeleteItemCommand({ TableName: table, Key: pick(entry, [key]) }));
    }
    for (const [id, item] of items) {
      if (placeOf(item) !== undefined && !placed.has(id)) await put(item);
    }
  }
}

function pick(item: Item, names: string[]): Item {
  return Object.fromEntries(names.flatMap((name) => (item[name] ? [[name, item[name]]] : [])));
}
