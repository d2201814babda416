import type { DocumentKey, DocumentsRead, ValueOf } from "../ports/document-kinds.ts";
import { type HashKeys, listKeys, nameOfKey } from "../telephony/phone-number.ts";

/**
 * The do-not-call list has numbers by their hashes, and a hash means nothing without its key. So one document names the
 * keys under which entries may stand: each before its first entry, and none as long as one may stand. Who does not hold
 * all of these keys cannot see every entry, and dials nobody.
 */
export const doNotCallListKey = { kind: "do-not-call-list", key: "list" } as const;

export function doNotCallKeyOf(numberHash: string): DocumentKey<"do-not-call"> {
  return { kind: "do-not-call", key: numberHash };
}

/** Returns the key of an entry that is for one client's calls alone. A hash has no space. */
export function clientEntryOf(numberHash: string, client: string): string {
  return `${numberHash} ${client}`;
}

/** True if the key is that of an entry for one client's calls alone. */
export function isClientEntry(key: string): boolean {
  return key.includes(" ");
}

/** Entries of the list may stand under a key that is not held. */
export class OtherHashKeyError extends Error {
  override name = "OtherHashKeyError";
}

/** Names the documents that say whether these hashed numbers are on the do-not-call list. */
export function doNotCallKeysOf(numberHashes: readonly string[]): DocumentKey[] {
  return [...numberHashes.map(doNotCallKeyOf), doNotCallListKey];
}

/** A number by its hashes under all keys that are held, and the client that wants to call it. */
export interface ListedNumber {
  hashes: readonly string[];
  /** Undefined: entries for one client's calls are not looked at. */
  client?: string | undefined;
}

/**
 * True if a number must never be called.
 *
 * @param documents the documents named by `doNotCallKeysOf`, with the client's entries where there are such
 * @throws OtherHashKeyError if entries may stand under another HASH_KEY
 */
export function isOnDoNotCallList(
  { hashes, client }: ListedNumber,
  documents: DocumentsRead,
  keys: HashKeys,
): boolean {
  if (isOfOtherKey(documents, keys)) {
    throw new OtherHashKeyError("the do-not-call list was made under another HASH_KEY");
  }
  const isListed = (key: string) => documents.get("do-not-call", key) !== undefined;
  return hashes.some(
    (hash) => isListed(hash) || (client !== undefined && isListed(clientEntryOf(hash, client))),
  );
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

/** Names the document of a number's erasure. */
export function erasureKeyOf(numberHash: string): DocumentKey<"erasure"> {
  return { kind: "erasure", key: numberHash };
}
