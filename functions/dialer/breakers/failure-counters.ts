import { ConflictError } from "../../../shared/lib/retry.ts";
import { hourMs } from "../../../shared/lib/units.ts";
import { changeDocument } from "../../../shared/ports/change-document.ts";
import type { StoredDocument } from "../../../shared/ports/documents.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Life of counters after their last count. */
export const failuresLifeMs = hourMs;

/** Resets counters to `value`. Dropped on a conflict, as another process counts too. */
export async function writeFailures(
  failures: StoredDocument<"failures">,
  value: Record<string, number>,
  { documents, random }: Pick<DialerDeps, "documents" | "random">,
): Promise<void> {
  const next = { ...failures, value, version: random.version() };
  await documents.write([{ next, seen: failures.version }]);
}

/** Resets the counters of a key as they stand now. */
export async function resetCounters(
  key: string,
  { documents, random, clock }: Pick<DialerDeps, "documents" | "random" | "clock">,
): Promise<void> {
  const expiresAt = clock.now() + failuresLifeMs;
  const change = (value: Record<string, number> = {}) =>
    Object.keys(value).length === 0 ? undefined : { value: {}, expiresAt };
  const edit = { name: { kind: "failures", key }, change } as const;
  await changeDocument(edit, { documents, random }).catch((error: unknown) => {
    if (!(error instanceof ConflictError)) throw error; // the next placed call resets them
  });
}
