/** Sizes and capacity units of DynamoDB, by the rules of its documentation. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Item } from "#shared/aws/dynamodb-client.ts";
import { dynamoTable, type IndexName } from "#shared/aws/dynamodb-table.ts";

const { hashKey, rangeKey } = dynamoTable;
const indexNames = Object.keys(dynamoTable.indexes).filter(isIndex);
/** Storage overhead of each item and of each of its index entries. */
const overheadBytes = 100;
const readUnitBytes = 4096;
const writeUnitBytes = 1024;

const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);

function isIndex(name: string): name is IndexName {
  return name in dynamoTable.indexes;
}

function bytesOf(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.B !== undefined) return value.B.byteLength;
  if (value.N !== undefined) return Math.ceil(value.N.replace(/[-.]/g, "").length / 2) + 1;
  if (value.L !== undefined) return 3 + sum(value.L.map((one) => 1 + bytesOf(one)));
  if (value.M !== undefined) return 3 + itemBytes(value.M) + Object.keys(value.M).length;
  return 1;
}

export function itemBytes(item: Item): number {
  return sum(Object.entries(item).map(([name, one]) => Buffer.byteLength(name) + bytesOf(one)));
}

const unitsOfWrite = (item: Item) => Math.max(1, Math.ceil(itemBytes(item) / writeUnitBytes));

/** Returns the keys-only entry of an item in an index; undefined if the item lacks one of the index keys. */
function entryIn(index: IndexName, item: Item | undefined): Item | undefined {
  const keys = dynamoTable.indexes[index];
  if (item?.[keys.hashKey] === undefined || item[keys.rangeKey] === undefined) return undefined;
  const kept = new Set<string>([hashKey, rangeKey, keys.hashKey, keys.rangeKey]);
  return Object.fromEntries(Object.entries(item).filter(([name]) => kept.has(name)));
}

/**
 * Returns the write units of a change of an item: those of the larger version, and in each index those of an
 * entry that is put or deleted, or both if its keys have changed. A refused write costs those of the item
 * that stands.
 */
export function writeUnits(before: Item | undefined, after: Item | undefined): number {
  const current = [before, after].filter((item) => item !== undefined);
  const ofIndexes = indexNames.map((index) => {
    const [old, next] = [entryIn(index, before), entryIn(index, after)];
    if (JSON.stringify(old) === JSON.stringify(next)) return 0;
    return sum([old, next].map((entry) => (entry === undefined ? 0 : unitsOfWrite(entry))));
  });
  return Math.max(1, ...current.map(unitsOfWrite)) + sum(ofIndexes);
}

/** Returns the read units of items requested by their keys, `missing` of which do not exist. */
export function readUnits(found: readonly Item[], missing: number, isConsistent: boolean): number {
  const units = sum(found.map((item) => Math.max(1, Math.ceil(itemBytes(item) / readUnitBytes))));
  return (units + missing) * (isConsistent ? 1 : 0.5);
}

/** Returns the read units of a query that examined these items, or index entries. */
export function queryUnits(found: readonly Item[], isConsistent: boolean): number {
  const units = Math.max(1, Math.ceil(sum(found.map(itemBytes)) / readUnitBytes));
  return units * (isConsistent ? 1 : 0.5);
}

/** Returns the bytes billed for an item, with and without its index entries. */
export function storedBytes(item: Item): { all: number; table: number } {
  const table = itemBytes(item) + overheadBytes;
  const entries = indexNames
    .map((index) => entryIn(index, item))
    .filter((entry) => entry !== undefined);
  return { table, all: table + sum(entries.map((entry) => itemBytes(entry) + overheadBytes)) };
}
