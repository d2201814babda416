import type { DynamoClient, Item } from "./dynamodb-client.ts";
import {
  allEnded,
  createDynamoItems,
  type DynamoItems,
  number,
  text,
  textIn,
} from "./dynamodb-items.ts";
import { isAbsent, isExpired, isCurrent, writeVersioned } from "./dynamodb-writes.ts";
import {
  toItem,
  keyOf,
  labelOf,
  numberPrefix,
  toNumbers,
  partitionsOf,
  toStoredText,
  ttlOf,
} from "./dynamodb-document-items.ts";
import { createDynamoPermits } from "./dynamodb-permits.ts";
import { createDynamoTime } from "./dynamodb-time.ts";
import type { Documents } from "../ports/documents.ts";
import { type DocumentKey, type Kind, toFound } from "../ports/document-kinds.ts";
import { toDocumentsRead } from "../ports/documents-read.ts";

/** Maximum tries of an addition while other writers replace the same expired document. */
const additionsMax = 3;
/** Queries that are under way at once for a list by prefixes. */
const prefixesAtOnce = 48;
/** The highest character, which no key has. */
const lastCharacter = "\u{10ffff}";

/**
 * Creates the documents in DynamoDB; dynamodb-table.ts describes their table.
 *
 * @param sources.now clock that decides expiry, in milliseconds since the epoch
 * @param sources.freshVersion makes the versions of `add`, `exchange` and `takePermits`
 */
export function createDynamoDocuments(
  client: DynamoClient,
  table: string,
  { now, freshVersion }: { now: () => number; freshVersion: () => string },
): Documents {
  const items = createDynamoItems(client, table);
  const add = createAdd({ items, now, freshVersion });

  return {
    async read(keys) {
      const asked = new Map(keys.map((key) => [labelOf(keyOf(key)), key]));
      const found = await items.getAll(keys.map(keyOf));
      return toDocumentsRead(
        found
          .filter((item) => !isExpired(item, now()))
          .flatMap((item) => {
            const key = asked.get(labelOf({ pk: textIn(item, "pk"), sk: textIn(item, "sk") }));
            return key === undefined ? [] : [toStoredText(key.kind, item)];
          }),
      );
    },
    write(changes) {
      const writes = changes.map(({ next, seen }) => ({
        item: toItem({ ...next, json: JSON.stringify(next.value) }),
        seen,
      }));
      return writeVersioned(items, writes, { now, mayExpire: true });
    },
    /** The client may repeat an addition whose answer was lost, which then counts twice. */
    add,
    addAll: async (additions) =>
      void (await allEnded(additions, ({ counters, expiresAt, ...key }) =>
        add(key, counters, expiresAt),
      )),
    exchange: createExchange({ items, now, freshVersion }),
    async list(kind, { after, limit, descending = false }) {
      const partitions = listedPartitionsOf(kind);
      const found: Item[] = [];
      let last = after;
      for (let isEnd = false; !isEnd && found.length < limit;) {
        const range = { ...(descending ? { before: last } : { after: last }), descending, limit };
        const page = await items.queryAll(undefined, partitions, range);
        found.push(...page.filter((item) => !isExpired(item, now())));
        last = textIn(page.at(-1) ?? {}, "sk");
        isEnd = page.length < limit;
      }
      return found.slice(0, limit).map((item) => toFound(kind, toStoredText(kind, item)));
    },
    async listByPrefix(kind, query) {
      const found = await findByPrefix(listedPartitionsOf(kind), query, { items, now });
      return found.map((item) => toFound(kind, toStoredText(kind, item)));
    },
    remove: (removals) => items.remove(removals.map((one) => ({ ...keyOf(one), seen: one.seen }))),
    takePermits: createDynamoPermits({ items, now, freshVersion }),
    storeTime: createDynamoTime(client, table),
    /** Nothing to do: DynamoDB deletes expired items by itself. */
    purge: async () => undefined, // its `ttl` deletes them
  };
}

/** Finds items whose sort keys begin with one of the prefixes, the highest first, some queries at once. */
async function findByPrefix(
  partitions: string[],
  { prefixes, before = lastCharacter, limit }: Parameters<Documents["listByPrefix"]>[1],
  { items, now }: Pick<AddDeps, "items" | "now">,
): Promise<Item[]> {
  const all = prefixes.toSorted().toReversed();
  const found: Item[] = [];
  for (let start = 0; start < all.length && found.length < limit; start += prefixesAtOnce) {
    const pages = await Promise.all(
      all.slice(start, start + prefixesAtOnce).map((prefix) => {
        const end = prefix + lastCharacter;
        const range = { after: prefix, before: before < end ? before : end, limit };
        return items.queryAll(undefined, partitions, { ...range, descending: true });
      }),
    );
    found.push(...pages.flat().filter((item) => !isExpired(item, now())));
  }
  return found.slice(0, limit);
}

function listedPartitionsOf(kind: Kind): string[] {
  const partitions = partitionsOf(kind);
  if (partitions === undefined) throw new Error(`documents of kind ${kind} are not listed`);
  return partitions;
}

interface AddDeps {
  items: DynamoItems;
  now: () => number;
  freshVersion: () => string;
}

/** Returns the method `add`. */
function createAdd({ items, now, freshVersion }: AddDeps): Documents["add"] {
  return async (document, counters, expiresAt) => {
    const { kind, key } = document;
    for (let tries = 0; tries < additionsMax; tries++) {
      const sums = await addTo(document, { counters, expiresAt }, { items, now, freshVersion });
      if (sums !== undefined) return sums;
      const json = JSON.stringify(counters);
      const created = toItem({ kind, key, version: freshVersion(), json, expiresAt });
      const condition = { expression: isAbsent, values: { ":now": number(now()) } };
      if (await items.put(created, condition)) return counters;
    }
    throw new Error(`counters could not be added in ${additionsMax} tries`);
  };
}

/** Adds to a document that has not expired. Resolves to the new counters, or undefined if it has expired. */
async function addTo(
  document: DocumentKey,
  { counters, expiresAt }: { counters: Record<string, number>; expiresAt: number },
  { items, now, freshVersion }: AddDeps,
) {
  const additions = namedCounters(counters, "n");
  const values: Item = {
    ...additions.values,
    ":now": number(now()),
    ":version": text(freshVersion()),
    ":expiresAt": number(expiresAt),
    ":ttl": ttlOf(expiresAt),
  };
  const expression = `SET #version = :version, #expiresAt = :expiresAt, #ttl = :ttl${addingOf(additions)}`;
  const change = { expression, names: additions.names };
  const item = await items.update(keyOf(document), change, { expression: isCurrent, values });
  return item === undefined ? undefined : toNumbers(item);
}

/** Returns the method `exchange`. */
function createExchange({ items, now, freshVersion }: AddDeps): Documents["exchange"] {
  return async (document, { removed, added }) => {
    const additions = namedCounters(added, "n");
    const removals = namedCounters(removed, "r");
    const version = freshVersion();
    const values = {
      ...additions.values,
      ...removals.values,
      ":now": number(now()),
      ":version": text(version),
    };
    const gone = removals.all.map(([name]) => name).join(", ");
    const isUnchanged = removals.all.map(([name, value]) => `${name} = ${value}`).join(" AND ");
    const item = await items.update(
      keyOf(document),
      {
        expression: `SET #version = :version${addingOf(additions)} REMOVE ${gone}`,
        names: { ...additions.names, ...removals.names },
      },
      { expression: `(${isCurrent}) AND ${isUnchanged}`, values },
    );
    if (item !== undefined) return toNumbers(item);
    // As in `writeVersioned`, the first try may have taken effect though its answer was lost.
    const current = (await items.get(keyOf(document))) ?? {};
    return textIn(current, "version") === version ? toNumbers(current) : undefined;
  };
}

/** Returns counters as an expression names them, as their names may have any character. */
function namedCounters(counters: Record<string, number>, prefix: string) {
  const named = Object.entries(counters).map(([counter, count], index) => ({
    name: `#${prefix}${index}`,
    value: `:${prefix}${index}`,
    counter: `${numberPrefix}${counter}`,
    count: number(count),
  }));
  return {
    all: named.map(({ name, value }) => [name, value] as const),
    names: Object.fromEntries(named.map(({ name, counter }) => [name, counter])),
    values: Object.fromEntries(named.map(({ value, count }) => [value, count])),
  };
}

function addingOf({ all }: ReturnType<typeof namedCounters>): string {
  return all.length === 0 ? "" : ` ADD ${all.map((pair) => pair.join(" ")).join(", ")}`;
}
