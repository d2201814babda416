import type { DocumentsRead, StoredDocument } from "./documents.ts";
import { type Kind, parseValue } from "./document-kinds.ts";
import { dayMs } from "../lib/units.ts";

/** A document in an adapter's form: its value is JSON. */
export interface StoredText {
  kind: Kind;
  key: string;
  version: string;
  json: string;
  expiresAt: number | null;
}

/**
 * Returns the expiry of a pace last used for this time: about a day later, in whole days, so that it seldom
 * changes.
 */
export function paceExpiresAt(permitAt: number): number {
  return (Math.floor(permitAt / dayMs) + 2) * dayMs;
}

/** Parses a stored document of this kind. @throws if its value does not fit the kind */
export function toDocument<K extends Kind>(kind: K, stored: StoredText): StoredDocument<K> {
  const { key, version, json, expiresAt } = stored;
  return { kind, key, version, value: parseValue(kind, JSON.parse(json)), expiresAt };
}

/** Wraps the documents that an adapter has read, and parses each value by its kind. */
export function toDocumentsRead(found: readonly StoredText[]): DocumentsRead {
  const byName = new Map(found.map((one) => [`${one.kind} ${one.key}`, one]));
  return {
    get(kind, key) {
      const one = byName.get(`${kind} ${key}`);
      return one === undefined ? undefined : toDocument(kind, one);
    },
  };
}
