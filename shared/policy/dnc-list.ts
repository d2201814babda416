import type { DocumentKey, DocumentsRead, ValueOf } from "../ports/document-kinds.ts";
import { type HashKeys, listKeys, nameOfKey } from "../telephony/hash-keys.ts";

/**
 * The do-not-call list has numbers by their hashes, and a hash means nothing without its key. So one document names the
 * keys under which entries may stand: each before its first entry, and none as long as one may stand. Who does not hold
 * all of these keys cannot see every entry, and dials nobody.
 */
export const doNotCallListKey = { kind: "do-not-call-list", key: "list" } as const;

export function doNotCallKeyOf(numberHash: string): DocumentKey<"do-not-call"> {
  return { kind: "do-not-call", key: numberHash };
}

/** Names the documents that say whether these hashed numbers are on the do-not-call list. */
export function doNotCallKeysOf(numberHashes: readonly string[]): DocumentKey[] {
  return [...numberHashes.map(doNotCallKeyOf), doNotCallListKey];
}

/**
 * True if a number must never be called.
 *
 * @param numberHashes its hashes under all keys that are held
 * @param documents the documents named by `doNotCallKeysOf`
 * @throws if entries may stand under another HASH_KEY
 */
export function isOnDoNotCallList(
  numberHashes: readonly string[],
  documents: DocumentsRead,
  keys: HashKeys,
): boolean {
  if (isOfOtherKey(documents, keys)) {
    throw new Error("the do-not-call list was made under another HASH_KEY");
  }
  return numberHashes.some((hash) => documents.get("do-not-call", hash) !== undefined);
}

/** True if entries may stand under a key that is not held: then nobody is dialed. */
export function isOfOtherKey(documents: DocumentsRead, keys: HashKeys): boolean {
  const held = namesOf(keys);
  return listIn(documents)?.keys.some((name) => !held.includes(name)) ?? false;
}

/** Returns the time since which the current key is known to be current; undefined if it is not known yet. */
export function findCurrentSince(documents: DocumentsRead, keys: HashKeys): number | undefined {
  const { current } = listIn(documents) ?? {};
  return current?.name === nameOfKey(keys.current) ? current.since : undefined;
}

/** Returns what the list's document says, where it is among those that were read. */
export function listIn(documents: DocumentsRead): ValueOf<"do-not-call-list"> | undefined {
  return documents.get(doNotCallListKey.kind, doNotCallListKey.key)?.value;
}

/** Returns the names of the keys that are held. */
export function namesOf(keys: HashKeys): string[] {
  return listKeys(keys).map(nameOfKey);
}
