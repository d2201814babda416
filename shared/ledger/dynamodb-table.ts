import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import {
  type CallRow,
  callStates,
  type Claim,
  type HistoryEntry,
  type UnclaimedWrite,
} from "./call-ledger.ts";

/**
 * The ledger in one DynamoDB table, by single-item conditional writes alone.
 *
 * Hash key `pk`: `call#` and the id, `key#` and an idempotency key, `hold#` and a name, `line#` and `pace#` and an
 * account, `count#` and `never#` and a number's hash, `order#` and a name, `act#` and an id, `counts#` and an hour; one item
 * is `sweep`. Two sparse indexes, each over shards so that no
 * partition is hot: `byDue` (`dueShard`, `dueKey`) has the rows that are due some time, each line's in shards of their
 * own; `byState` (`stateShard`, `stateKey`) every call, and holds, lines, orders and acts in a shard of their own each.
 * `byNumber` and `byRequest` have the ids of all calls to a number and of a request. The sort keys begin with a time,
 * padded so that text sorts as numbers do. `ttl` (seconds) lets DynamoDB delete what is long past its retention, should
 * no sweep have.
 */
export const dynamoTable = {
  hashKey: "pk",
  ttl: "ttl",
  indexes: {
    byDue: {
      hashKey: "dueShard",
      rangeKey: "dueKey",
      /** What a sweep needs of a row: whole, a page of large calls would fill the function's memory. */
      projected: [
        "id",
        "state",
        "reason",
        "token",
        "attempt",
        "route",
        "requestId",
        "agentId",
        "dueAt",
      ],
    },
    byState: { hashKey: "stateShard", rangeKey: "stateKey" },
    byNumber: { hashKey: "numberHash", rangeKey: "stateKey", projected: ["id"] },
    byRequest: { hashKey: "requestId", rangeKey: "stateKey", projected: ["id"] },
  },
} as const;

const shardCount = 8;
const shards = Array.from({ length: shardCount }, (_, shard) => shard);
export const holdShard = "HOLD";
export const lineShard = "LINE";
export const orderShard = "ORDER";
export const actShard = "ACT";
export type Item = Record<string, AttributeValue>;

/** What a row has from its first write on. */
export function firstAttributes({ call, numberHash, numberTail }: Claim | UnclaimedWrite) {
  return {
    id: text(call.id),
    call: text(JSON.stringify({ request: call.request, redialOf: call.redialOf })),
    resent: { BOOL: false },
    requestId: text(call.requestId),
    client: text(call.client),
    agentId: text(call.request.agent_id),
    numberHash: text(numberHash),
    numberTail: text(numberTail),
    acceptedAt: number(call.acceptedAt),
    stateKey: text(timeKey(call.acceptedAt, call.id)),
  };
}

export function duePlace(id: string, dueAt: number, line?: string) {
  return {
    dueAt: number(dueAt),
    ...(line === undefined ? {} : { line: text(line) }),
    dueShard: text(`${dueShardName(line)}#${shardOf(id)}`),
    dueKey: text(timeKey(dueAt, id)),
  };
}

export function dueShardsOf(line: string | undefined): string[] {
  return shards.map((shard) => `${dueShardName(line)}#${shard}`);
}

function dueShardName(line: string | undefined): string {
  return line === undefined ? "due" : `line#${line}`;
}

/** What a write adds to a row's history. */
export function historyOf(
  entry: HistoryEntry,
  { unrecorded = false }: { unrecorded?: boolean | undefined },
): AttributeValue {
  return { L: unrecorded ? [] : [text(JSON.stringify(entry))] };
}

/**
 * Sets, sets where absent, and removes attributes, all under placeholder names, and adds to the history.
 *
 * @param first set only where they are absent
 * @param history what is added to it
 */
export function updateOf({
  set,
  first = {},
  values,
  history,
  remove = [],
}: {
  set: Item;
  first?: Item;
  values: Item;
  history: AttributeValue;
  remove?: string[];
}) {
  const names: Record<string, string> = { "#history": "history" };
  const sets = ["#history = list_append(if_not_exists(#history, :none), :entries)"];
  const allValues: Item = { ...values, ":none": { L: [] }, ":entries": history };
  for (const [name, value] of Object.entries({ ...first, ...set })) {
    names[`#set_${name}`] = name;
    allValues[`:set_${name}`] = value;
    const to = name in set ? `:set_${name}` : `if_not_exists(#set_${name}, :set_${name})`;
    sets.push(`#set_${name} = ${to}`);
  }
  for (const name of remove) names[`#remove_${name}`] = name;
  const removes = remove.map((name) => `#remove_${name}`).join(", ");
  return {
    UpdateExpression: `SET ${sets.join(", ")}${removes === "" ? "" : ` REMOVE ${removes}`}`,
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: allValues,
  };
}

export function fromItem(item: Item): CallRow {
  const json = (name: string) => item[name]?.S;
  const [call, route] = [json("call"), json("route")];
  const state = callStates.find((one) => one === item["state"]?.S);
  if (state === undefined) throw new Error("a row of the ledger is in a state that is none");
  const optional = (name: string) => (item[name]?.N === undefined ? null : Number(item[name].N));
  const [id, requestId, client] = [
    textIn(item, "id"),
    textIn(item, "requestId"),
    textIn(item, "client"),
  ];
  const acceptedAt = numberIn(item, "acceptedAt");
  return {
    id,
    state,
    reason: textIn(item, "reason"),
    token: item["token"]?.S ?? null,
    attempt: numberIn(item, "attempt"),
    resent: item["resent"]?.BOOL === true,
    dueAt: optional("dueAt"),
    line: item["line"]?.S ?? null,
    claimedAt: optional("claimedAt"),
    unknownSince: optional("unknownSince"),
    // What attributes of their own have is not kept twice: an item over 1 KB costs as much again, in every index too.
    call: call === undefined ? null : { ...JSON.parse(call), id, requestId, client, acceptedAt },
    route: route === undefined ? null : JSON.parse(route),
    providerCallId: item["providerCallId"]?.S ?? null,
    redialedAs: item["redialedAs"]?.S ?? null,
    requestId,
    client,
    agentId: textIn(item, "agentId"),
    numberHash: textIn(item, "numberHash"),
    numberTail: textIn(item, "numberTail"),
    acceptedAt,
    updatedAt: numberIn(item, "updatedAt"),
    history: (item["history"]?.L ?? []).map((entry) => JSON.parse(entry.S ?? "")),
  };
}

/** Ids end in random hex, whose digits are shared out evenly. */
function shardOf(id: string): number {
  return (Number.parseInt(id.slice(-1), 16) || 0) % shardCount;
}

export function stateShard(id: string, state: CallRow["state"]): string {
  return `${state}#${shardOf(id)}`;
}

export function stateShardsOf(state: CallRow["state"]): string[] {
  return shards.map((shard) => `${state}#${shard}`);
}

export function timeKey(time: number, id: string): string {
  return `${String(time).padStart(15, "0")}#${id}`;
}

/** What sorts after every other key below this one, and before it. */
export function justBefore(key: string): string {
  return `${key.slice(0, -1)}${String.fromCharCode(key.charCodeAt(key.length - 1) - 1)}~`;
}

export function text(value: string): AttributeValue {
  return { S: value };
}

export function number(value: number): AttributeValue {
  return { N: String(value) };
}

export function textIn(item: Item, name: string): string {
  return item[name]?.S ?? "";
}

export function numberIn(item: Item, name: string): number {
  return Number(item[name]?.N);
}
