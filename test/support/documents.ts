import type {
  DocumentChange,
  Documents,
  StoredDocument,
} from "../../shared/documents/documents.ts";
import type { Kind, ValueOf } from "../../shared/documents/kinds.ts";
import { randomId } from "../../shared/platform/random-id.ts";

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
