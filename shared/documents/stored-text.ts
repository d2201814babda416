import type { DocumentsRead, StoredDocument } from "./documents.ts";
import { type Kind, parseValue } from "./kinds.ts";

/** A document as an adapter keeps it: its value as JSON. */
export interface StoredText {
  kind: Kind;
  key: string;
  version: string;
  json: string;
  expiresAt: number | null;
}

/** When a pace that was last used for this moment is forgotten: a day later, in whole days, so that it seldom changes. */
export function paceExpiresAt(moment: number): number {
  return (Math.floor(moment / 86_400_000) + 2) * 86_400_000;
}

/** A stored document of this kind. @throws where its value is none of the kind's */
export function storedDocument<K extends Kind>(kind: K, stored: StoredText): StoredDocument<K> {
  const { key, version, json, expiresAt } = stored;
  return { kind, key, version, value: parseValue(kind, JSON.parse(json)), expiresAt };
}

/** What an adapter has read, its values parsed as those of their kind. */
export function documentsRead(found: readonly StoredText[]): DocumentsRead {
  const byName = new Map(found.map((one) => [`${one.kind} ${one.key}`, one]));
  return {
    get(kind, key) {
      const one = byName.get(`${kind} ${key}`);
      return one === undefined ? undefined : storedDocument(kind, one);
    },
  };
}
