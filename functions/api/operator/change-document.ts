import type {
  DocumentKey,
  Documents,
  StoredDocument,
} from "../../../shared/documents/documents.ts";
import type { Kind, ValueOf } from "../../../shared/documents/kinds.ts";
import { randomVersion } from "../../../shared/platform/random-id.ts";
import { UnreachableError } from "../port-limits.ts";
import type { RouteDeps } from "../context.ts";

const tries = 3;

/**
 * Changes a document, and reads it again if another write has changed it meanwhile.
 *
 * @param change returns the new value, or undefined to write nothing
 * @returns the value that stands thereafter; undefined if there is no document
 * @throws UnreachableError if other writes came first three times
 */
export async function changeDocument<K extends Kind>(
  { kind, key }: DocumentKey<K>,
  expiresAt: number | null,
  change: (standing: StoredDocument<K> | undefined) => ValueOf<K> | undefined,
  documents: Documents,
  { randomId }: Pick<RouteDeps, "randomId">,
): Promise<ValueOf<K> | undefined> {
  for (let tried = 0; tried < tries; tried++) {
    const standing = (await documents.read([{ kind, key }])).get(kind, key);
    const value = change(standing);
    if (value === undefined) return standing?.value;
    const next = { kind, key, version: randomVersion(randomId()), value, expiresAt };
    const [isWritten] = await documents.write([{ next, seen: standing?.version ?? null }]);
    if (isWritten === true) return value;
  }
  throw new UnreachableError("a document was changed by others each time");
}
