import { ConflictError, onConflict, retry } from "../lib/retry.ts";
import { changeDocument } from "../ports/change-document.ts";
import type { DocumentChange, Documents } from "../ports/documents.ts";
import type { HashKeys } from "../telephony/hash-keys.ts";
import { doNotCallKeyOf, doNotCallListKey, namesOf } from "./do-not-call.ts";

/** Entries of one write, so that each ends within its time limit. */
const entriesAtOnce = 500;
/** Maximum tries of a write where other writers come first. */
const triesMax = 3;

/** What writes of the list need. */
export interface ListDeps {
  documents: Documents;
  clock: { now(): number };
  random: { version(): string };
}

/**
 * Puts hashed numbers onto the list. One that stands already is written over, under a fresh version: a removal of it whose
 * answer was lost may be under way still.
 *
 * @param keyName name of the key under which they are hashed, which the list names before it has such an entry
 * @throws if a write failed, or others came first each time: some entries may stand
 */
export async function putEntries(
  numberHashes: readonly string[],
  keyName: string,
  deps: ListDeps,
): Promise<void> {
  if (numberHashes.length === 0) return;
  await nameKey(keyName, deps);
  for (const some of inParts([...new Set(numberHashes)])) await putSome(some, keyName, deps);
}

async function putSome(
  numberHashes: readonly string[],
  key: string,
  { documents, clock, random }: ListDeps,
): Promise<void> {
  let changes = numberHashes.map((hash): DocumentChange<"do-not-call"> => {
    const value = { at: clock.now(), key };
    const next = { ...doNotCallKeyOf(hash), version: random.version(), value, expiresAt: null };
    return { next, seen: null };
  });
  await retry(async () => {
    const written = await documents.write(changes);
    const refused = changes.filter((_, index) => written[index] !== true);
    if (refused.length === 0) return;
    const read = await documents.read(refused.map(({ next }) => next));
    changes = refused.map(({ next }) => {
      const current = read.get(next.kind, next.key);
      const value = { ...next.value, ...current?.value, key };
      return { next: { ...next, value }, seen: current?.version ?? null };
    });
    throw new ConflictError("the do-not-call list took no entry");
  }, onConflict(triesMax));
}

/** Splits items into parts that are written or removed at once. */
export function inParts<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / entriesAtOnce) }, (_, n) =>
    items.slice(n * entriesAtOnce, (n + 1) * entriesAtOnce),
  );
}

/** Names a key of entries in the list's document. */
async function nameKey(name: string, deps: ListDeps): Promise<void> {
  await changeDocument(
    {
      name: doNotCallListKey,
      change: (list = { keys: [], current: null }) =>
        list.keys.includes(name)
          ? undefined
          : { value: { ...list, keys: [...list.keys, name] }, expiresAt: null },
    },
    deps,
  );
}

/** Names the current key, and since when it is so, unless the list has it. Called while HASH_KEY is rotated. */
export async function nameCurrentKey(keys: HashKeys, deps: ListDeps): Promise<void> {
  const [key = ""] = namesOf(keys);
  await changeDocument(
    {
      name: doNotCallListKey,
      change: (list = { keys: [], current: null }) => {
        if (list.current?.key === key && list.keys.includes(key)) return undefined;
        const current = { key, since: deps.clock.now() };
        const value = { ...list, keys: [...new Set([...list.keys, key])], current };
        return { value, expiresAt: null };
      },
    },
    deps,
  );
}

/** Takes names of keys from the list: from then on no entry counts that stands under one of them. */
export async function dropKeys(
  isDropped: (name: string) => boolean,
  deps: ListDeps,
): Promise<void> {
  await changeDocument(
    {
      name: doNotCallListKey,
      change: (list) =>
        list?.keys.some(isDropped) === true
          ? {
              value: { ...list, keys: list.keys.filter((name) => !isDropped(name)) },
              expiresAt: null,
            }
          : undefined,
    },
    deps,
  );
}
