import type { DocumentKey, DocumentsRead, ValueOf } from "../ports/document-kinds.ts";
import type { Documents } from "../ports/documents.ts";

/**
 * The do-not-call list has numbers by their hashes, and a hash is meaningless without its key. So one document names
 * the keys that entries may have: each before its first entry, and until it has none. A process that lacks one of
 * these keys cannot see every entry, and dials nobody.
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
export class OtherKeyError extends Error {
  override name = "OtherKeyError";
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
 * @param keyNames names of the keys under which the number was hashed
 * @throws OtherKeyError if entries may stand under another HASH_KEY
 */
export function isOnDoNotCallList(
  { hashes, client }: ListedNumber,
  documents: DocumentsRead,
  keyNames: readonly string[],
): boolean {
  if (isOfOtherKey(documents, keyNames)) {
    throw new OtherKeyError("the do-not-call list was made under another HASH_KEY");
  }
  const isListed = (key: string) => documents.get("do-not-call", key) !== undefined;
  return hashes.some(
    (hash) => isListed(hash) || (client !== undefined && isListed(clientEntryOf(hash, client))),
  );
}

/** Reads which numbers must never be called. Undefined: entries may stand under another HASH_KEY. */
export async function readListed(
  numbers: readonly ListedNumber[],
  keyNames: readonly string[],
  documents: Pick<Documents, "read">,
): Promise<boolean[] | undefined> {
  const entries = numbers.flatMap(({ hashes, client }) =>
    client === undefined ? hashes : hashes.flatMap((hash) => [hash, clientEntryOf(hash, client)]),
  );
  const read = await documents.read(doNotCallKeysOf(entries));
  if (isOfOtherKey(read, keyNames)) return undefined;
  return numbers.map((number) => isOnDoNotCallList(number, read, keyNames));
}

/** True if entries may stand under a key that is not held: then nobody is dialed. */
export function isOfOtherKey(documents: DocumentsRead, keyNames: readonly string[]): boolean {
  return listIn(documents)?.keys.some((name) => !keyNames.includes(name)) ?? false;
}

/** Returns the time since which the first of the keys is known to be the current one; undefined if it is not known yet. */
export function findCurrentSince(
  documents: DocumentsRead,
  [name]: readonly string[],
): number | undefined {
  const { current } = listIn(documents) ?? {};
  return current != null && current.name === name ? current.since : undefined;
}

/** Returns what the list's document says, where it is among those that were read. */
export function listIn(documents: DocumentsRead): ValueOf<"do-not-call-list"> | undefined {
  return documents.get(doNotCallListKey.kind, doNotCallListKey.key)?.value;
}
