import { setTimeout as sleep } from "node:timers/promises";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { DynamoClient, DynamoInput, Item } from "./dynamodb-client.ts";
import { dynamoTable, type IndexName, keyTypeOf } from "./dynamodb-table.ts";

/** Primary key of an item of the table. */
export interface ItemKey {
  pk: string;
  sk: string;
}

/** An expression in which `#name` stands for an attribute and `:name` for a value. */
interface Condition {
  expression: string;
  values?: Item;
}

/** Maximum keys of one BatchGetItem. */
const batchMax = 100;
/** Maximum requests for unprocessed keys, and the first wait between them. */
const pollsMax = 6;
const pollAgainMs = 20;
/** Maximum requests under way for one call of a port: as many as the client has connections. */
const widthMax = 50;

/** Operations on items of the table that both adapters use. */
export type DynamoItems = ReturnType<typeof createDynamoItems>;

export function createDynamoItems(client: DynamoClient, table: string) {
  return {
    ...createReads(client, table),
    ...createQueries(client, table),
    ...createWrites(client, table),
  };
}

function createReads(client: DynamoClient, table: string) {
  async function get(key: ItemKey): Promise<Item | undefined> {
    const asked = { TableName: table, Key: keyOf(key), ConsistentRead: true };
    return (await client.send("GetItem", asked)).output.Item;
  }

  /** Reads the items that exist, in no order. */
  async function getAll(keys: readonly ItemKey[]): Promise<Item[]> {
    const distinct = [...new Map(keys.map((key) => [`${key.pk} ${key.sk}`, key])).values()];
    const batches: ItemKey[][] = [];
    for (let start = 0; start < distinct.length; start += batchMax) {
      batches.push(distinct.slice(start, start + batchMax));
    }
    return (await allEnded(batches, getBatch)).flat();
  }

  async function getBatch(batch: readonly ItemKey[]): Promise<Item[]> {
    const found: Item[] = [];
    let keys: Item[] = batch.map(keyOf);
    for (let asks = 0; asks < pollsMax; asks++) {
      if (asks > 0) await sleep(pollAgainMs * 2 ** asks);
      const { output } = await client.send("BatchGetItem", {
        RequestItems: { [table]: { Keys: keys, ConsistentRead: true } },
      });
      const { Responses, UnprocessedKeys } = output;
      found.push(...(Responses?.[table] ?? []));
      keys = UnprocessedKeys?.[table]?.Keys ?? [];
      if (keys.length === 0) return found;
    }
    throw new Error(`DynamoDB left ${keys.length} keys unprocessed, asked ${pollsMax} times`);
  }

  return { get, getAll };
}

function createQueries(client: DynamoClient, table: string) {
  /** Reads the first `limit` items of a hash key whose sort keys lie between `after` and `before`. */
  async function query(asked: Query): Promise<Item[]> {
    const { index, after, before, limit } = asked;
    const { rangeKey } = index === undefined ? dynamoTable : dynamoTable.indexes[index];
    const found: Item[] = [];
    if (after !== undefined && before !== undefined && after >= before) return found;
    let start: Item | undefined;
    do {
      // BETWEEN includes both ends, so the item at the end where the query begins may be one too many.
      const page = { start, limit: limit - found.length + 1 };
      const { output } = await client.send("Query", toQueryInput(table, asked, page));
      const { Items = [], LastEvaluatedKey } = output;
      const keyIn = (item: Item) => textIn(item, rangeKey);
      found.push(...Items.filter((item) => keyIn(item) !== after && keyIn(item) !== before));
      start = LastEvaluatedKey;
    } while (start !== undefined && found.length < limit);
    return found.slice(0, limit);
  }

  /** Reads the first `limit` items of several hash keys of the table or an index, merged in the order of the sort key. */
  async function queryAll(
    index: IndexName | undefined,
    hashes: readonly string[],
    range: Range,
  ): Promise<Item[]> {
    const pages = await allEnded(hashes, (hash) => query({ index, hash, ...range }));
    const { rangeKey } = index === undefined ? dynamoTable : dynamoTable.indexes[index];
    const sign = range.descending === true ? -1 : 1;
    return pages
      .flat()
      .toSorted((a, b) => sign * compareBytes(textIn(a, rangeKey), textIn(b, rangeKey)))
      .slice(0, range.limit);
  }

  return { query, queryAll };
}

/** Compares texts as DynamoDB does, by their bytes: JavaScript puts emoji before full-width letters. */
function compareBytes(one: string, other: string): number {
  if (one === other) return 0;
  const isPlain = !/[\ud800-\udfff]/.test(one + other);
  return isPlain ? (one < other ? -1 : 1) : Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** Returns the input of a query for one of its pages. */
function toQueryInput(
  table: string,
  { index, hash, descending = false, ...range }: Query,
  { start, limit }: { start: Item | undefined; limit: number },
): DynamoInput<"Query"> {
  const { hashKey, rangeKey } = index === undefined ? dynamoTable : dynamoTable.indexes[index];
  const { after, before } = range;
  const expression = `#hash = :hash${boundsOf(range)}`;
  return {
    TableName: table,
    ...(index === undefined ? { ConsistentRead: true } : { IndexName: index }),
    KeyConditionExpression: expression,
    ExpressionAttributeNames: {
      "#hash": hashKey,
      ...(expression.includes("#range") ? { "#range": rangeKey } : {}),
    },
    ExpressionAttributeValues: {
      ":hash": keyTypeOf(hashKey) === "B" ? bytes(Buffer.from(hash, "hex")) : text(hash),
      ...(after === undefined ? {} : { ":after": text(after) }),
      ...(before === undefined ? {} : { ":before": text(before) }),
    },
    ScanIndexForward: !descending,
    Limit: limit,
    ...(start === undefined ? {} : { ExclusiveStartKey: start }),
  };
}

function createWrites(client: DynamoClient, table: string) {
  /** Writes an item whole if the condition holds. Resolves to false if it does not. */
  async function putItem(item: Item, { expression, values }: Condition): Promise<boolean> {
    const put = client.send("PutItem", {
      TableName: table,
      Item: item,
      ConditionExpression: expression,
      ...namesIn(expression),
      ...(values === undefined ? {} : { ExpressionAttributeValues: values }),
    });
    return (await unlessRefused(put)) !== undefined;
  }

  /** @returns the new attributes; undefined if the condition does not hold */
  async function updateItem(
    key: ItemKey,
    change: { expression: string; names?: Record<string, string> },
    condition: Required<Condition>,
  ): Promise<Item | undefined> {
    const { ExpressionAttributeNames } = namesIn(`${change.expression} ${condition.expression}`);
    const update = client.send("UpdateItem", {
      TableName: table,
      Key: keyOf(key),
      UpdateExpression: change.expression,
      ConditionExpression: condition.expression,
      ExpressionAttributeNames: { ...ExpressionAttributeNames, ...change.names },
      ExpressionAttributeValues: condition.values,
      ReturnValues: "ALL_NEW",
    });
    return (await unlessRefused(update))?.output.Attributes;
  }

  /** Deletes items; one with `seen` only while its version is that. */
  async function remove(keys: readonly (ItemKey & { seen?: string | undefined })[]): Promise<void> {
    await allEnded(keys, async ({ seen, ...key }) => {
      const expression = "#version = :seen";
      const condition =
        seen === undefined
          ? {}
          : {
              ConditionExpression: expression,
              ...namesIn(expression),
              ExpressionAttributeValues: { ":seen": text(seen) },
            };
      await unlessRefused(
        client.send("DeleteItem", { TableName: table, Key: keyOf(key), ...condition }),
      );
    });
  }

  return { put: putItem, update: updateItem, remove };
}

/** A range of sort keys, both ends exclusive. */
interface Range {
  after?: string | undefined;
  before?: string | undefined;
  descending?: boolean;
  limit: number;
}

interface Query extends Range {
  /** Absent: the table itself. */
  index?: IndexName | undefined;
  hash: string;
}

/** Returns the range as one condition, as DynamoDB allows one on the sort key. */
function boundsOf({ after, before }: Range): string {
  if (after === undefined) return before === undefined ? "" : " AND #range < :before";
  return ` AND #range ${before === undefined ? "> :after" : "BETWEEN :after AND :before"}`;
}

async function unlessRefused<Output>(write: Promise<Output>): Promise<Output | undefined> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof Error && error.name === "ConditionalCheckFailedException")
      return undefined;
    throw error;
  }
}

/** Maps the attributes that an expression names. Every name has the form `#name`, as DynamoDB reserves many words. */
function namesIn(expression: string): { ExpressionAttributeNames: Record<string, string> } {
  const names = expression.match(/#\w+/g) ?? [];
  return { ExpressionAttributeNames: Object.fromEntries(names.map((one) => [one, one.slice(1)])) };
}

/**
 * Runs `work` on the items, some side by side, and resolves to the results once all have ended. Only then does it
 * reject with the first failure: earlier, the caller would read items back whose writes are still under way. The
 * other items are processed in spite of a failure.
 */
export async function allEnded<One, Result>(
  items: readonly One[],
  work: (item: One) => Promise<Result>,
): Promise<Result[]> {
  const results: PromiseSettledResult<Result>[] = [];
  const rest = items.entries();
  const worker = async () => {
    for (const [index, item] of rest) {
      [results[index]] = await Promise.allSettled([work(item)]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(widthMax, items.length) }, worker));
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

function keyOf({ pk, sk }: ItemKey): Item {
  return { pk: text(pk), sk: text(sk) };
}

export function text(value: string): AttributeValue {
  return { S: value };
}

export function number(value: number): AttributeValue {
  return { N: String(value) };
}

export function bytes(value: Uint8Array): AttributeValue {
  return { B: value };
}

export function textIn(item: Item, name: string): string {
  return item[name]?.S ?? "";
}

export function bytesIn(item: Item, name: string): Uint8Array {
  return item[name]?.B ?? new Uint8Array();
}
