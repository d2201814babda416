import type { Item } from "./dynamodb-client.ts";
import { allEnded, type DynamoItems, number, text, textIn } from "./dynamodb-items.ts";

/**
 * Conditions on items that may expire. An item without `expiresAt` never does. An expired item counts as absent,
 * though DynamoDB may delete it days later. AND binds closer than OR.
 */
export const isAbsent = "attribute_not_exists(#pk) OR #expiresAt <= :now";
export const isCurrent = "attribute_not_exists(#expiresAt) OR #expiresAt > :now";
const isSeen = "#version = :seen";
const isSeenAndCurrent =
  "#version = :seen AND attribute_not_exists(#expiresAt) OR #version = :seen AND #expiresAt > :now";

/** @param now milliseconds since the epoch */
export function isExpired(item: Item, now: number): boolean {
  return Number(item["expiresAt"]?.N ?? Infinity) <= now;
}

/** One write of an item, which has its version as an attribute. */
export interface VersionedItem {
  item: Item;
  /** The version that was read; null: there was no item, or an expired one. */
  seen: string | null;
}

interface WriteOptions {
  now: () => number;
  mayExpire: boolean;
}

/**
 * Writes items conditionally on their versions. Two writes of one item are made in order, and the second sees the
 * first.
 *
 * @param options.mayExpire false for items that never have `expiresAt`: a condition about it takes the local server four
 * times as long
 * @returns for each write, true if the item stands as requested
 */
export async function writeVersioned(
  items: DynamoItems,
  writes: readonly VersionedItem[],
  options: WriteOptions,
): Promise<boolean[]> {
  const byKey = Map.groupBy(writes, ({ item }) => `${textIn(item, "pk")} ${textIn(item, "sk")}`);
  const current = new Set<VersionedItem>();
  await allEnded([...byKey.values()], async (ofOne) => {
    for (const one of ofOne) if (await writeOne(items, one, options)) current.add(one);
  });
  return writes.map((one) => current.has(one));
}

async function writeOne(
  items: DynamoItems,
  { item, seen }: VersionedItem,
  { now, mayExpire }: WriteOptions,
): Promise<boolean> {
  if (await items.put(item, conditionOf(seen, mayExpire, now()))) return true;
  // The client repeats a write whose answer was lost, and the repetition is refused because the first try took
  // effect.
  const current = await items.get({ pk: textIn(item, "pk"), sk: textIn(item, "sk") });
  return (
    current !== undefined &&
    !isExpired(current, now()) &&
    textIn(current, "version") === textIn(item, "version")
  );
}

function conditionOf(seen: string | null, mayExpire: boolean, now: number) {
  const nowValue = { ":now": number(now) };
  if (seen === null) return { expression: isAbsent, values: nowValue };
  const values = { ":seen": text(seen) };
  if (!mayExpire) return { expression: isSeen, values };
  return { expression: isSeenAndCurrent, values: { ...values, ...nowValue } };
}
