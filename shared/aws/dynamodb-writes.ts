import { allEnded, type DynamoItems, type Item, number, text, textIn } from "./dynamodb-items.ts";

/**
 * Conditions on items that may expire. An item without `expiresAt` never does. An expired item counts as absent,
 * though DynamoDB may delete it days later. AND binds closer than OR.
 */
export const isAbsent = "attribute_not_exists(#pk) OR #expiresAt <= :now";
export const isCurrent = "attribute_not_exists(#expiresAt) OR #expiresAt > :now";
const isSeen =
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

/**
 * Writes items conditionally on their versions. Two writes of one item are made in order, and the second sees the
 * first.
 *
 * @returns for each write, true if the item is now as requested
 */
export async function writeVersioned(
  items: DynamoItems,
  writes: readonly VersionedItem[],
  now: () => number,
): Promise<boolean[]> {
  const byKey = Map.groupBy(writes, ({ item }) => `${textIn(item, "pk")} ${textIn(item, "sk")}`);
  const current = new Set<VersionedItem>();
  await allEnded([...byKey.values()], async (ofOne) => {
    for (const one of ofOne) if (await writeOne(items, one, now)) current.add(one);
  });
  return writes.map((one) => current.has(one));
}

async function writeOne(
  items: DynamoItems,
  { item, seen }: VersionedItem,
  now: () => number,
): Promise<boolean> {
  const values = { ":now": number(now()) };
  const condition =
    seen === null
      ? { expression: isAbsent, values }
      : {
          expression: isSeen,
          values: { ...values, ":seen": text(seen) },
        };
  if (await items.put(item, condition)) return true;
  // The SDK repeats a write whose answer was lost, and the repetition is refused because the first try took
  // effect.
  const current = await items.get({ pk: textIn(item, "pk"), sk: textIn(item, "sk") });
  return (
    current !== undefined &&
    !isExpired(current, now()) &&
    textIn(current, "version") === textIn(item, "version")
  );
}
