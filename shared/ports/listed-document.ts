import {
  type Kind,
  parseValue,
  type StoredDocument,
  type StoredText,
  type ValueOf,
} from "./document-kinds.ts";

/**
 * Returns a document of a list, whose value is parsed when it is first read: one that only a later version can read must
 * not fail the others of its list.
 */
export function toListed<K extends Kind>(kind: K, stored: StoredText): StoredDocument<K> {
  const { key, version, json, expiresAt } = stored;
  let value: ValueOf<K> | undefined;
  return {
    kind,
    key,
    version,
    expiresAt,
    /** @throws if it does not fit the kind */
    get value() {
      return (value ??= parseValue(kind, JSON.parse(json)));
    },
  };
}

/** True if this version can read the value of a listed document. */
export function isReadable(document: StoredDocument): boolean {
  try {
    return document.value !== undefined;
  } catch {
    return false;
  }
}
