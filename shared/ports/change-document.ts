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

/**
 * Changes many documents of one kind, as `changeDocument` changes one: one read and one write, and those that others have
 * changed meanwhile again.
 *
 * @throws ConflictError if other writes came first each time
 */
export async function changeDocuments<K extends Kind>(
  edits: readonly DocumentEdit<K>[],
  { documents, random }: { documents: Documents; random: { version(): string } },
): Promise<void> {
  let left = edits;
  await retry(async () => {
    if (left.length === 0) return;
    const read = await documents.read(left.map(({ name }) => name));
    const changes = left.flatMap((edit) => {
      const current = read.get(edit.name.kind, edit.name.key);
      const changed = edit.change(current?.value);
      if (changed === undefined) return [];
      const next = { ...edit.name, ...changed, version: random.version() };
      return { edit, next, seen: current?.version ?? null };
    });
    if (changes.length === 0) return;
    const written = await documents.write(changes.map(({ next, seen }) => ({ next, seen })));
    left = changes.filter((_, index) => written[index] !== true).map(({ edit }) => edit);
    if (left.length > 0) throw new ConflictError("a document was changed by others each time");
  }, onConflict(triesMax));
}
