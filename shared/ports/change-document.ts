import { ConflictError, onConflict, retry } from "../lib/retry.ts";
import type { Kind, ValueOf, DocumentKey, StoredDocument } from "./document-kinds.ts";
import type { Documents } from "./documents.ts";

/** A change of one document. */
interface DocumentEdit<K extends Kind> {
  name: DocumentKey<K>;
  /**
   * Returns the document's new content, or undefined to leave the document as it is. It is called again after another
   * process's write.
   */
  change(
    current: ValueOf<K> | undefined,
  ): Pick<StoredDocument<K>, "value" | "expiresAt"> | undefined;
}

const triesMax = 3;

/**
 * Reads a document, changes it, and writes it over the version that was read. It tries three times, as another process may write the
 * document meanwhile. An unchanged value is written under a fresh version too, which an earlier removal whose answer was
 * lost does not match.
 *
 * @returns the values before and after; `after` is undefined where the document was left
 * @throws ConflictError if other writes came first each time
 */
export async function changeDocument<K extends Kind>(
  { name, change }: DocumentEdit<K>,
  { documents, random }: { documents: Documents; random: { version(): string } },
): Promise<{ before: ValueOf<K> | undefined; after: ValueOf<K> | undefined }> {
  return retry(async () => {
    const current = (await documents.read([name])).get(name.kind, name.key);
    const before = current?.value;
    const changed = change(before);
    if (changed === undefined) return { before, after: undefined };
    const next = { ...name, ...changed, version: random.version() };
    const [isWritten] = await documents.write([{ next, seen: current?.version ?? null }]);
    if (isWritten === true) return { before, after: changed.value };
    throw new ConflictError("a document was changed by others each time");
  }, onConflict(triesMax));
}
