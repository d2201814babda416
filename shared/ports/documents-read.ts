import { type DocumentsRead, type StoredText, toFound } from "./document-kinds.ts";
import { toRead } from "./found-documents.ts";

/** Wraps the documents that an adapter has read, and parses each value by its kind. */
export function toDocumentsRead(found: readonly StoredText[]): DocumentsRead {
  const byName = new Map(found.map((one) => [`${one.kind} ${one.key}`, one]));
  return toRead((kind, key) => {
    const one = byName.get(`${kind} ${key}`);
    return one === undefined ? undefined : toFound(kind, one);
  });
}
