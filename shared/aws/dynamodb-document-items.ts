import type { Item } from "./dynamodb-client.ts";
import { type ItemKey, number, text, textIn } from "./dynamodb-items.ts";
import { digitsOf } from "../telephony/number-hashes.ts";
import {
  counterKinds,
  type DocumentKey,
  type Kind,
  listedKinds,
  type StoredText,
} from "../ports/document-kinds.ts";

/** Kinds whose values are numbers that updates add to. Each number is an attribute with `numberPrefix`. */
const numberKinds: ReadonlySet<Kind> = new Set<Kind>([...counterKinds, "pace"]);
export const numberPrefix = "n_";

/** Returns the partitions of a kind that is listed; undefined if it is not. */
export function partitionsOf(kind: Kind): string[] | undefined {
  if (kind === "do-not-call")
    return "0123456789abcdef".split("").map((digit) => `doc#${kind}#${digit}`);
  return listedKinds.has(kind) ? [`doc#${kind}`] : undefined;
}

export function keyOf({ kind, key }: DocumentKey): ItemKey {
  if (listedKinds.has(kind)) return { pk: `doc#${kind}`, sk: key };
  // The do-not-call list is long, and written in bulk: it is spread over 16 partitions.
  const part = kind === "do-not-call" ? digitsOf(key).slice(0, 1) : key;
  return { pk: `doc#${kind}#${part}`, sk: key };
}

/** Returns the key as one string. */
export function labelOf({ pk, sk }: ItemKey): string {
  return JSON.stringify([pk, sk]);
}

export function toItem({ kind, key, version, json, expiresAt }: StoredText): Item {
  const { pk, sk } = keyOf({ kind, key });
  const item: Item = { pk: text(pk), sk: text(sk), version: text(version) };
  if (expiresAt !== null) {
    item["expiresAt"] = number(expiresAt);
    item["ttl"] = ttlOf(expiresAt);
  }
  if (!numberKinds.has(kind)) return { ...item, value: text(json) };
  const numbers: Record<string, number> = JSON.parse(json);
  for (const [name, count] of Object.entries(numbers)) {
    item[`${numberPrefix}${name}`] = number(count);
  }
  return item;
}

export function toStoredText(kind: Kind, item: Item): StoredText {
  const expiresAt = item["expiresAt"]?.N;
  return {
    kind,
    key: textIn(item, "sk"),
    version: textIn(item, "version"),
    json: numberKinds.has(kind) ? JSON.stringify(toNumbers(item)) : textIn(item, "value"),
    expiresAt: expiresAt === undefined ? null : Number(expiresAt),
  };
}

/** Returns the numbers of an item by their names. */
export function toNumbers(item: Item): Record<string, number> {
  return Object.fromEntries(
    Object.entries(item)
      .filter(([name]) => name.startsWith(numberPrefix))
      .map(([name, { N }]) => [name.slice(numberPrefix.length), Number(N)]),
  );
}

/** Returns the time from which on DynamoDB may delete an item, in seconds since the epoch. */
export function ttlOf(expiresAt: number) {
  return number(Math.ceil(expiresAt / 1000));
}
