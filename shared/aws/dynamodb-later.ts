import type { CallRow } from "../calls/call-row.ts";
import type { Item } from "./dynamodb-client.ts";
import { dynamoTable } from "./dynamodb-table.ts";

const keys = Object.values(dynamoTable.indexes).flatMap((index) => Object.values(index));
/** Attributes that this version writes. */
const known: ReadonlySet<string> = new Set(["pk", "sk", "ttl", "version", "row", ...keys]);

/** Attributes of a row's item that only a later version knows: spreads of the row keep them, and its JSON lacks them. */
const laterAttributes = Symbol("attributes of a later version");

/** Adds to a row those attributes of its item that this version does not know, as each write replaces the item. */
export function withLaterAttributes(row: CallRow | undefined, item: Item): CallRow | undefined {
  const later = Object.entries(item).filter(([name]) => !known.has(name));
  if (row === undefined || later.length === 0) return row;
  return Object.assign(row, { [laterAttributes]: Object.fromEntries(later) });
}

/** Returns the attributes that `withLaterAttributes` has added. */
export function laterAttributesOf(row: CallRow): Item {
  return Reflect.get(row, laterAttributes) ?? {};
}
