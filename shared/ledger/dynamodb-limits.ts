import {
  DeleteItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { capCountMax, capDaysMax, freeAt } from "../schedule/frequency-cap.ts";
import { grantSlots, slotsFrom } from "../schedule/pacing.ts";
import type { BoundKey, Hold, Limits } from "./call-ledger.ts";
import type { DynamoItems } from "./dynamodb-items.ts";
import { holdShard, type Item, number, numberIn, text, textIn } from "./dynamodb-table.ts";

export function createDynamoLimits(
  client: DynamoDBClient,
  table: string,
  { get, unlessRefused, conditional, query }: DynamoItems,
): Limits {
  const boundKey = (item: Item | undefined, now: number): BoundKey | undefined =>
    item === undefined || numberIn(item, "expiresAt") <= now
      ? undefined
      : { fingerprint: textIn(item, "fingerprint"), seed: textIn(item, "seed") };
  const holdOf = (item: Item): Hold => ({
    name: textIn(item, "name"),
    code: textIn(item, "code"),
    count: numberIn(item, "count"),
    probeAt: item["probeAt"]?.N === undefined ? null : Number(item["probeAt"].N),
  });
  const readHold = async (name: string) => {
    const item = await get(`hold#${name}`);
    return item === undefined ? undefined : holdOf(item);
  };
  /** Writes a hold if it still is as read. */
  const putHold = (hold: Hold, read: Hold | undefined): Promise<boolean> =>
    conditional(() =>
      client.send(
        new PutItemCommand({
          TableName: table,
          Item: {
            pk: text(`hold#${hold.name}`),
            name: text(hold.name),
            code: text(hold.code),
            count: number(hold.count),
            ...(hold.probeAt === null ? {} : { probeAt: number(hold.probeAt) }),
            stateShard: text(holdShard),
            stateKey: text(hold.name),
          },
          ...(read === undefined
            ? { ConditionExpression: "attribute_not_exists(pk)" }
            : {
                ConditionExpression:
                  "#count = :count AND #code = :code AND " +
                  (read.probeAt === null ? "attribute_not_exists(probeAt)" : "probeAt = :probeAt"),
                ExpressionAttributeNames: { "#count": "count", "#code": "code" },
                ExpressionAttributeValues: {
                  ":count": number(read.count),
                  ":code": text(read.code),
                  ...(read.probeAt === null ? {} : { ":probeAt": number(read.probeAt) }),
                },
              }),
        }),
      ),
    );

  /** The calls that a number's caps count, with their times, as an item that is written over what was read. */
  const readCounts = async (numberHash: string) => {
    const item = await get(`count#${numberHash}`);
    const calls: [id: string, at: number][] =
      item === undefined ? [] : JSON.parse(textIn(item, "calls"));
    return { calls, version: item === undefined ? 0 : numberIn(item, "version") };
  };
  const putCounts = (numberHash: string, calls: [string, number][], version: number) => {
    const newest = calls.toSorted(([, a], [, b]) => b - a).slice(0, capCountMax);
    const expiresAt = (newest[0]?.[1] ?? 0) + capDaysMax * 86_400_000;
    return conditional(() =>
      client.send(
        new PutItemCommand({
          TableName: table,
          Item: {
            pk: text(`count#${numberHash}`),
            calls: text(JSON.stringify(newest)),
            version: number(version + 1),
            ttl: number(Math.ceil(expiresAt / 1000)),
          },
          ConditionExpression: version === 0 ? "attribute_not_exists(pk)" : "#version = :version",
          ...(version === 0
            ? {}
            : {
                ExpressionAttributeNames: { "#version": "version" },
                ExpressionAttributeValues: { ":version": number(version) },
              }),
        }),
      ),
    );
  };

  return {
    async readKey(key, now) {
      return boundKey(await get(`key#${key}`), now);
    },
    async bindKey(key, bound, now, expiresAt) {
      const isBound = await conditional(() =>
        client.send(
          new PutItemCommand({
            TableName: table,
            Item: {
              pk: text(`key#${key}`),
              fingerprint: text(bound.fingerprint),
              seed: text(bound.seed),
              expiresAt: number(expiresAt),
              ttl: number(Math.ceil(expiresAt / 1000)),
            },
            // Not left to the engine's own clean-up, which may be days late.
            ConditionExpression: "attribute_not_exists(pk) OR expiresAt <= :now",
            ExpressionAttributeValues: { ":now": number(now) },
          }),
        ),
      );
      if (isBound) return bound;
      const standing = boundKey(await get(`key#${key}`), now);
      if (standing === undefined)
        throw new Error("the idempotency key did not stand after its write");
      return standing;
    },

    async holds() {
      const items = await query("byState", [holdShard], { limit: 1000 });
      return items.map(holdOf);
    },
    async strike({ name, code, holdFrom, probeAt, at }) {
      for (;;) {
        const before = await readHold(name);
        const held = before !== undefined && before.probeAt !== null;
        if (held && (before.probeAt ?? 0) > at) return before;
        const count = before?.code === code ? before.count + 1 : 1;
        const hold = { name, code, count, probeAt: held || count >= holdFrom ? probeAt : null };
        if (await putHold(hold, before)) return hold;
      }
    },
    takeProbe: (hold, nextProbeAt) =>
      putHold({ ...hold, count: hold.count + 1, probeAt: nextProbeAt }, hold),
    async clearHold(name) {
      await client.send(
        new DeleteItemCommand({ TableName: table, Key: { pk: text(`hold#${name}`) } }),
      );
    },

    async reserve(request) {
      const { account, intervalUs, burst, now, until } = request;
      const pk = `pace#${account}`;
      for (;;) {
        const found = (await get(pk))?.["arrivalUs"]?.N;
        const before = found === undefined ? undefined : Number(found);
        const { granted, baseUs } = grantSlots(before, request);
        if (granted === 0) return [];
        const stepUs = granted * intervalUs;
        // Where slots are still to come, what others take meanwhile adds up with ours, as long as ours fit behind.
        const isIdle = before === undefined || before < now * 1000;
        const latestUs = until * 1000 + (burst - granted) * intervalUs;
        const answer = await unlessRefused(() =>
          client.send(
            new UpdateItemCommand({
              TableName: table,
              Key: { pk: text(pk) },
              UpdateExpression: `SET arrivalUs = ${isIdle ? ":after" : "arrivalUs + :step"}`,
              ConditionExpression: isIdle
                ? "attribute_not_exists(arrivalUs) OR arrivalUs < :now"
                : "arrivalUs BETWEEN :now AND :latest",
              ExpressionAttributeValues: isIdle
                ? { ":after": number(baseUs + stepUs), ":now": number(now * 1000) }
                : {
                    ":step": number(stepUs),
                    ":now": number(now * 1000),
                    ":latest": number(latestUs),
                  },
              ReturnValues: "UPDATED_NEW",
            }),
          ),
        );
        const after = answer?.Attributes?.["arrivalUs"]?.N;
        if (after !== undefined) return slotsFrom(Number(after) - stepUs, granted, request);
      }
    },
    async count({ numberHash, callId, at, caps }) {
      for (;;) {
        const counts = await readCounts(numberHash);
        const others = counts.calls.filter(([id]) => id !== callId);
        const times = others.map(([, time]) => time);
        const free = freeAt(times, caps, at);
        if (free !== at) return free;
        const [, before = at] = counts.calls.find(([id]) => id === callId) ?? [];
        const calls: typeof others = [...others, [callId, Math.max(before, at)]];
        if (await putCounts(numberHash, calls, counts.version)) return at;
      }
    },
    async uncount({ numberHash, callId, at }) {
      for (;;) {
        const { calls, version } = await readCounts(numberHash);
        const others = calls.filter(([id, time]) => id !== callId || time !== at);
        if (others.length === calls.length) return;
        if (await putCounts(numberHash, others, version)) return;
      }
    },
  };
}
