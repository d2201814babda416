import {
  BatchGetItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { holdPrefix } from "../orders.ts";
import {
  type CallState,
  callStates,
  type LoggedAct,
  type OperatorRecords,
  type Order,
} from "./call-ledger.ts";
import type { DynamoItems } from "./dynamodb-items.ts";
import {
  actShard,
  dynamoTable,
  type Item,
  justBefore,
  number,
  numberIn,
  orderShard,
  stateShardsOf,
  text,
  textIn,
  timeKey,
} from "./dynamodb-table.ts";

const hourMs = 3_600_000;
const writesAtOnce = 100;

function orderOf(item: Item): Order {
  return {
    name: textIn(item, "name"),
    at: numberIn(item, "at"),
    by: textIn(item, "by"),
    expiresAt: item["expiresAt"] === undefined ? null : numberIn(item, "expiresAt"),
  };
}

/**
 * Gathers what came into which state, to be added to the hours' counts in one write an hour. What is not written when
 * a function dies, or cannot be, is missing from them.
 */
export function createDynamoCounts(client: DynamoDBClient, table: string, retentionMs: number) {
  let gathered = new Map<number, Map<CallState, number>>();
  const add = (state: CallState, at: number): void => {
    const hour = Math.floor(at / hourMs);
    const counts = gathered.get(hour) ?? new Map<CallState, number>();
    gathered.set(hour, counts.set(state, (counts.get(state) ?? 0) + 1));
  };
  const write = async (): Promise<void> => {
    const hours = gathered;
    gathered = new Map();
    await Promise.all(
      [...hours].map(([hour, counts]) => {
        const states = [...counts];
        return client.send(
          new UpdateItemCommand({
            TableName: table,
            Key: { pk: text(`counts#${hour}`) },
            UpdateExpression: `SET #ttl = :ttl ADD ${states.map((_, n) => `#state${n} :count${n}`).join(", ")}`,
            ExpressionAttributeNames: {
              "#ttl": dynamoTable.ttl,
              ...Object.fromEntries(states.map(([state], n) => [`#state${n}`, state])),
            },
            ExpressionAttributeValues: {
              ":ttl": number(Math.ceil((hour * hourMs + retentionMs) / 1000)),
              ...Object.fromEntries(states.map(([, count], n) => [`:count${n}`, number(count)])),
            },
          }),
        );
      }),
    );
  };
  return { add, write };
}

export function createDynamoOperator(
  client: DynamoDBClient,
  table: string,
  { query }: DynamoItems,
  retentionMs: number,
): Omit<OperatorRecords, "writeCounts"> {
  /** Those items of the keys that there are. */
  async function readAll(keys: string[]): Promise<Item[]> {
    const items: Item[] = [];
    let left = keys;
    while (left.length > 0) {
      const page = left.slice(0, 100).map((pk) => ({ pk: text(pk) }));
      const { Responses, UnprocessedKeys } = await client.send(
        new BatchGetItemCommand({
          RequestItems: { [table]: { Keys: page, ConsistentRead: true } },
        }),
      );
      items.push(...(Responses?.[table] ?? []));
      const again = UnprocessedKeys?.[table]?.Keys ?? [];
      left = [...left.slice(100), ...again.map((key) => textIn(key, "pk"))];
    }
    return items;
  }
  const put = (Item: Item) => client.send(new PutItemCommand({ TableName: table, Item }));
  const remove = (pk: string) =>
    client.send(new DeleteItemCommand({ TableName: table, Key: { pk: text(pk) } }));

  const holdOrders = async () =>
    (await query("byState", [orderShard], { limit: 100_000 })).map(orderOf);
  const ordersNamed = async (names: string[], now: number) => {
    const items = await readAll([...new Set(names)].map((name) => `order#${name}`));
    return items.map(orderOf).filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  };

  return {
    async counts(from, until) {
      const first = Math.ceil(from / hourMs);
      const hours = Array.from(
        { length: Math.max(0, Math.ceil(until / hourMs) - first) },
        (_, n) => first + n,
      );
      const items = await readAll(hours.map((hour) => `counts#${hour}`));
      const byHour = items.map((item) => ({
        hour: Number(textIn(item, "pk").split("#")[1]),
        item,
      }));
      return byHour
        .toSorted((a, b) => a.hour - b.hour)
        .flatMap(({ hour, item }) =>
          callStates
            .filter((state) => item[state] !== undefined)
            .toSorted()
            .map((state) => ({ hour, state, count: numberIn(item, state) })),
        );
    },
    async standing(state, most) {
      const { hashKey } = dynamoTable.indexes.byState;
      let left = stateShardsOf(state).map((shard): { shard: string; start?: Item } => ({ shard }));
      let count = 0;
      // A share of it from each shard at a time: what is counted is read, and paid for.
      while (left.length > 0 && count < most) {
        const limit = Math.ceil((most - count) / left.length);
        const pages = await Promise.all(
          left.map(async ({ shard, start }) => ({
            shard,
            page: await client.send(
              new QueryCommand({
                TableName: table,
                IndexName: "byState",
                Select: "COUNT",
                KeyConditionExpression: "#hash = :shard",
                ExpressionAttributeNames: { "#hash": hashKey },
                ExpressionAttributeValues: { ":shard": text(shard) },
                Limit: limit,
                ...(start === undefined ? {} : { ExclusiveStartKey: start }),
              }),
            ),
          })),
        );
        count += pages.reduce((sum, { page }) => sum + (page.Count ?? 0), 0);
        left = pages.flatMap(({ shard, page: { LastEvaluatedKey: start } }) =>
          start === undefined ? [] : [{ shard, start }],
        );
      }
      return Math.min(count, most);
    },
    holdOrders,
    ordersNamed,
    async ordersFor(names, now) {
      const [holds, others] = await Promise.all([
        holdOrders(),
        ordersNamed(
          names.filter((name) => !name.startsWith(holdPrefix)),
          now,
        ),
      ]);
      return [...holds, ...others];
    },
    async giveOrder({ name, at, by, expiresAt }) {
      await put({
        pk: text(`order#${name}`),
        name: text(name),
        at: number(at),
        by: text(by),
        // Holds are listed; what is cancelled is asked for by name.
        ...(name.startsWith(holdPrefix)
          ? { stateShard: text(orderShard), stateKey: text(name) }
          : {}),
        ...(expiresAt === null
          ? {}
          : { expiresAt: number(expiresAt), ttl: number(Math.ceil(expiresAt / 1000)) }),
      });
    },
    async dropOrder(name) {
      await remove(`order#${name}`);
    },
    async doNotCall(hashes) {
      const items = await readAll([...new Set(hashes)].map((hash) => `never#${hash}`));
      return new Set(items.map((item) => textIn(item, "pk").slice("never#".length)));
    },
    async addDoNotCall(hashes, at) {
      for (let start = 0; start < hashes.length; start += writesAtOnce) {
        const some = hashes.slice(start, start + writesAtOnce);
        await Promise.all(some.map((hash) => put({ pk: text(`never#${hash}`), at: number(at) })));
      }
    },
    async dropDoNotCall(hashes) {
      for (let start = 0; start < hashes.length; start += writesAtOnce) {
        const some = hashes.slice(start, start + writesAtOnce);
        await Promise.all(some.map((hash) => remove(`never#${hash}`)));
      }
    },
    async logAct({ id, at, by, act, target, count }) {
      await put({
        pk: text(`act#${id}`),
        id: text(id),
        at: number(at),
        by: text(by),
        act: text(act),
        target: text(target),
        ...(count === undefined ? {} : { count: number(count) }),
        stateShard: text(actShard),
        stateKey: text(timeKey(at, id)),
        ttl: number(Math.ceil((at + retentionMs) / 1000)),
      });
    },
    async acts({ before, limit }) {
      const items = await query("byState", [actShard], {
        ...(before === undefined ? {} : { before: justBefore(timeKey(before.at, before.id)) }),
        descending: true,
        limit,
      });
      return items.map((item): LoggedAct => ({
        id: textIn(item, "id"),
        at: numberIn(item, "at"),
        by: textIn(item, "by"),
        act: textIn(item, "act"),
        target: textIn(item, "target"),
        ...(item["count"] === undefined ? {} : { count: numberIn(item, "count") }),
      }));
    },
  };
}
