import { createHash } from "node:crypto";
import type { CallRow } from "../calls/call-row.ts";
import { dialingPrefix, dialingIn, watchLane, parseLane } from "../calls/lane.ts";
import { pack, unpack } from "../ports/packed.ts";
import { parseRow, toStoredRow } from "../ports/stored-row.ts";
import { attentionStates, type CallState } from "../calls/states.ts";
import { outlivesRetention, pendingKeptMs } from "../events/outbox-rows.ts";
import { indexOf, requestIdOf, timeOfId } from "../calls/ids.ts";
import { type DialingCall, requestListsOf } from "../ports/ledger.ts";
import type { Item } from "./dynamodb-client.ts";
import { bytes, bytesIn, type ItemKey, number, text, textIn } from "./dynamodb-items.ts";
import { laterAttributesOf, withLaterAttributes } from "./dynamodb-later.ts";
import { weekMs } from "../lib/units.ts";

const watchShards = 16;
/** Partitions of the calls under way. Each claim enters one and leaves it. */
const dialingShards = 4;
/** Maximum bytes of a lane's name in a sort key, of which DynamoDB allows 1,024. */
const dialingNameBytesMax = 900;
/** Partitions of a list of events. Each event enters one and leaves it; a partition takes a thousand writes a second. */
const deliverShards = 4;
/** Partitions of a list of requests. A client may post more single calls a second than a partition takes writes. */
const requestShards = 4;
const shards = 8;
const timeDigits = 15;

export function keyOfCall(id: string): ItemKey {
  return { pk: `call#${requestIdOf(id)}#${Math.floor(indexOf(id) / 100)}`, sk: id };
}

/**
 * Converts a row to an item. Each write costs a unit per KB, so items are kept small: the row's JSON does not repeat
 * values of keys and index keys, and is packed. A placed call with a result and an event has some 390 bytes so.
 *
 * @param endsAt time from which on DynamoDB may delete the item, in milliseconds since the epoch
 */
export function toItem(row: CallRow, endsAt: number): Item {
  const { id, version, state, lane, dueAt, numberHash } = row;
  const { deliverTo, deliverAt, clientReceiverTo, clientReceiverAt } = row;
  const { pk, sk } = keyOfCall(id);
  const rest: Record<string, unknown> = toStoredRow(row);
  delete rest["numberHash"];
  const item: Item = {
    ...laterAttributesOf(row),
    pk: text(pk),
    sk: text(sk),
    version: text(version),
    numberHash: bytes(Buffer.from(numberHash, "hex")),
    week: text(`${weekOf(timeOfId(id))}#${shardOf(id, shards)}`),
    ttl: number(Math.ceil((outlivesRetention(row) ? endsAt + pendingKeptMs : endsAt) / 1000)),
  };
  const lists = requestListsOf(row);
  const { client, campaign } = lists;
  const named =
    client === undefined || campaign === undefined
      ? lists
      : { ...lists, clientCampaign: clientCampaignOf(client, campaign) };
  for (const [name, value] of Object.entries(named)) {
    item[name] = text(`${value}#${shardOf(id, requestShards)}`);
  }
  if (attentionStates.includes(state)) item["attention"] = text(`${state}#${shardOf(id, shards)}`);
  if (lane !== null && dueAt !== null) {
    const { kind } = parseLane(lane);
    const isDialing = kind === "dialing";
    const name = isDialing ? shortName(lane) : lane;
    if (name === lane) delete rest["lane"];
    delete rest["dueAt"];
    const dueKey = dueKeyOf({ dueAt, id });
    item["due"] = text(
      isDialing
        ? `${dialingPrefix}#${shardOf(id, dialingShards)}`
        : kind === "watch"
          ? `${watchLane}#${shardOf(id, watchShards)}`
          : lane,
    );
    item["dueKey"] = text(isDialing ? `${dueKey}#${name}` : dueKey);
  }
  if (deliverTo !== null && deliverAt !== null) {
    delete rest["deliverTo"];
    delete rest["deliverAt"];
    item["deliver"] = text(`${deliverTo}#${shardOf(id, deliverShards)}`);
    item["deliverKey"] = text(dueKeyOf({ dueAt: deliverAt, id }));
  }
  if (clientReceiverTo !== undefined && clientReceiverAt !== undefined) {
    delete rest["clientReceiverTo"];
    delete rest["clientReceiverAt"];
    item["clientReceiver"] = text(`${clientReceiverTo}#${shardOf(id, deliverShards)}`);
    item["clientReceiverKey"] = text(dueKeyOf({ dueAt: clientReceiverAt, id }));
  }
  item["row"] = bytes(pack(rest));
  return item;
}

/**
 * Parses the row of an item. Undefined if this version cannot read it.
 */
export function toRow(item: Item): CallRow | undefined {
  const stored = unpack(bytesIn(item, "row"));
  if (stored === undefined) return undefined;
  const keys =
    item["due"] === undefined
      ? {}
      : { lane: laneIn(item), dueAt: toPosition(item, "dueKey").dueAt };
  const tell = item["deliver"]?.S;
  const list =
    tell === undefined
      ? {}
      : { deliverTo: tell.replace(/#\d+$/, ""), deliverAt: toPosition(item, "deliverKey").dueAt };
  const clientReceiver = item["clientReceiver"]?.S;
  const clientList =
    clientReceiver === undefined
      ? {}
      : {
          clientReceiverTo: clientReceiver.replace(/#\d+$/, ""),
          clientReceiverAt: toPosition(item, "clientReceiverKey").dueAt,
        };
  const numberHash = Buffer.from(bytesIn(item, "numberHash")).toString("hex");
  const fields = { ...keys, ...stored, ...list, ...clientList, numberHash };
  return withLaterAttributes(parseRow(textIn(item, "sk"), textIn(item, "version"), fields), item);
}

/** Returns the lane in the keys of an item of the index `due`. */
function laneIn(item: Item): string {
  const due = textIn(item, "due");
  if (due.startsWith(`${dialingPrefix}#`)) return nameIn(textIn(item, "dueKey"));
  return due.startsWith(`${watchLane}#`) ? watchLane : due;
}

/** Returns the lane's name behind the time and the id of a sort key. Only it may contain the separator. */
function nameIn(dueKey: string): string {
  return dueKey.split("#").slice(2).join("#");
}

/** Returns the name of a lane of calls under way, without a client and an agent too long for a sort key. */
function shortName(lane: string): string {
  if (Buffer.byteLength(lane) <= dialingNameBytesMax) return lane;
  const hash = createHash("sha256").update(lane).digest("hex");
  const { account } = dialingIn(lane);
  return dialingPrefix + JSON.stringify([account.slice(0, 200), "", hash]);
}

/** Returns a call under way from its entry in the index `due`. */
export function toDialing(entry: Item): DialingCall {
  return {
    ...toPosition(entry, "dueKey"),
    ...dialingIn(nameIn(textIn(entry, "dueKey"))),
  };
}

/** Returns the hash keys of the calls under way in the index `due`. */
export function dialingHashes(): string[] {
  return shardsOf(dialingPrefix, dialingShards);
}

/**
 * Returns the partition keys of a lane in the index `due`. The keys of other lanes are JSON or begin with
 * `results:` or `analyses:`, so none equals a partition of `watch` or of the calls under way.
 */
export function dueHashesOf(lane: string): string[] {
  return lane === watchLane ? shardsOf(lane, watchShards) : [lane];
}

/** Returns the hash keys of a list in the index `events`. */
export function deliverHashesOf(list: string): string[] {
  return shardsOf(list, deliverShards);
}

/** Returns the hash keys of a state in the index `attention`. */
export function attentionHashesOf(state: CallState): string[] {
  return shardsOf(state, shards);
}

/** Returns the name of the list of a client's requests in a campaign. */
export function clientCampaignOf(client: string, campaign: string): string {
  return JSON.stringify([client, campaign]);
}

/** Returns the hash keys of a list of requests in the index of clients, campaigns or agents. */
export function requestHashesOf(name: string): string[] {
  return shardsOf(name, requestShards);
}

/** Returns the week of a time in the index `week`, counted from the epoch. */
export function weekOf(time: number): number {
  return Math.floor(time / weekMs);
}

/** Returns the hash keys of a week in the index `week`. */
export function weekHashesOf(week: number): string[] {
  return shardsOf(String(week), shards);
}

/** Number of queries that one week takes. */
export const weekQueries = shards;

/**
 * Returns the due time, padded so that text sorts like numbers and rounded up so that no row comes early,
 * then the id.
 */
export function dueKeyOf({ dueAt, id }: { dueAt: number; id: string }): string {
  return `${String(Math.ceil(dueAt)).padStart(timeDigits, "0")}#${id}`;
}

/** Returns the position of an item, or of its entry, in the index with this range key. */
export function toPosition(
  item: Item,
  rangeKey: "dueKey" | "deliverKey" | "clientReceiverKey",
): { dueAt: number; id: string } {
  const [dueAt = "", id = ""] = textIn(item, rangeKey).split("#");
  return { dueAt: Number(dueAt), id };
}

function shardsOf(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, shard) => `${name}#${shard}`);
}

/** Spreads ids evenly, also those of one request (FNV-1a, whose lower bits need the upper ones folded in). */
function shardOf(id: string, count: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index++) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  }
  return ((hash ^ (hash >>> 16)) >>> 0) % count;
}
