import { nameOfKey, type RotatedKeys } from "../lib/rotated-keys.ts";
import { keyReadMs } from "../lib/timing.ts";
import type { DocumentsRead } from "../ports/document-kinds.ts";
import { findCurrentSince } from "./number-entries.ts";

/**
 * Returns the key that every process of the API has read, from which URLs and tokens are derived: while HASH_KEY is rotated the
 * former key, until the current one is known for `keyReadMs`.
 *
 * @param documents the list's document among them
 */
export function findKeyReadByAll(
  documents: DocumentsRead,
  { current, former }: RotatedKeys,
  now: number,
): string {
  if (former === undefined) return current;
  const since = findCurrentSince(documents, [nameOfKey(current)]);
  return since !== undefined && now >= since + keyReadMs ? current : former;
}
