import type { Log } from "../lib/log.ts";
import type { DocumentsRead, FoundDocument, Kind, StoredDocument } from "./document-kinds.ts";
import { unreadable, UnreadableError } from "./unreadable.ts";

/** True if this version can read a document. */
export function isReadable<K extends Kind>(found: FoundDocument<K>): found is StoredDocument<K> {
  return found.value !== unreadable;
}

/** Returns the documents of a list that this version can read. An alarm counts the others, which wait for a later version. */
export function skipUnreadable<K extends Kind>(
  listed: readonly FoundDocument<K>[],
  { log }: { log: Log },
): StoredDocument<K>[] {
  const readable = listed.filter((one) => isReadable(one));
  const count = listed.length - readable.length;
  if (count > 0) log("alarm", "document.unreadable", { count });
  return readable;
}

/** Wraps documents that `find` returns. */
export function toRead(find: DocumentsRead["find"]): DocumentsRead {
  return {
    find,
    get(kind, key) {
      const found = find(kind, key);
      if (found === undefined || isReadable(found)) return found;
      throw new UnreadableError(`a document of ${kind}`);
    },
  };
}
