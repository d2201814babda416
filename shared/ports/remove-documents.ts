import type { DocumentKey } from "./document-kinds.ts";
import type { Documents } from "./documents.ts";

/**
 * Removes documents in their current version. It does not try again if another write comes first, because a frozen
 * request would remove what an operator has written since.
 *
 * @returns true if none of them exists afterwards
 */
export async function removeDocuments(
  keys: readonly DocumentKey[],
  documents: Documents,
): Promise<boolean> {
  const read = await documents.read(keys);
  const removals = keys.flatMap(({ kind, key }) => {
    const current = read.get(kind, key);
    return current === undefined ? [] : [{ kind, key, seen: current.version }];
  });
  if (removals.length === 0) return true;
  await documents.remove(removals);
  // One that was not there may be by now: a dialer moves do-not-call entries from one HASH_KEY to the other.
  const left = await documents.read(keys);
  return keys.every(({ kind, key }) => left.find(kind, key) === undefined);
}
