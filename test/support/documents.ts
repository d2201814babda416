import type { DocumentChange, Documents } from "#shared/ports/documents.ts";
import type { DocumentKey, StoredDocument, Kind, ValueOf } from "#shared/ports/document-kinds.ts";
import { randomId } from "#shared/lib/random.ts";

/** Creates an empty store of documents, which expire by the clock. */
export type CreateDocuments = (now: () => number) => Promise<Documents>;

export function aDocument<K extends Kind>(
  kind: K,
  key: string,
  value: ValueOf<K>,
  expiresAt: number | null = null,
): StoredDocument<K> {
  return { kind, key, version: randomId(), value, expiresAt };
}

/** Returns an order by `ops` that keeps an agent waiting. */
export const aPause = (key: string, at = 1, expiresAt: number | null = null) =>
  aDocument("pause", key, { of: { agent: key }, at, by: "ops" }, expiresAt);

/** Returns first writes of documents. */
export const anew = (...documents: StoredDocument[]): DocumentChange[] =>
  documents.map((next) => ({ next, seen: null }));

/** Removes documents as they stand now. */
export async function removeCurrent(
  documents: Documents,
  ...keys: readonly DocumentKey[]
): Promise<void> {
  const read = await documents.read(keys);
  await documents.remove(
    keys.flatMap(({ kind, key }) => {
      const current = read.get(kind, key);
      return current === undefined ? [] : [{ kind, key, seen: current.version }];
    }),
  );
}
