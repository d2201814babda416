import type { Call } from "../calls/call-request.ts";
import { timeOfId } from "../calls/ids.ts";
import type { ReadFacts, KeyedNumber, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";

export function keys({ hashes }: KeyedNumber): DocumentKey[] {
  return (hashes?.own ?? []).map((key) => ({ kind: "erasure", key }));
}

/**
 * Returns the time of an erasure of a call's number that covers the call; undefined if there is none. A redial has its number
 * from the call that it replaces, so an erasure since that call covers the redial too; and a repeat under an
 * Idempotency-Key, which may be accepted after the erasure, has the id that the call had before it.
 */
function findErasure(
  { id, acceptedAt, ancestors: [first = id] = [] }: Pick<Call, "id" | "acceptedAt" | "ancestors">,
  hashes: readonly string[],
  documents: DocumentsRead,
): number | undefined {
  const since = Math.min(acceptedAt, timeOfId(first));
  return hashes
    .flatMap((hash) => documents.get("erasure", hash)?.value.at ?? [])
    .find((at) => since <= at);
}

/** Everything was erased that was known of the call's number. */
export function admit(
  { call, hashes }: ResolvedCall,
  { documents }: Pick<ReadFacts, "documents">,
): Verdict | undefined {
  const erasedAt = hashes && findErasure(call, hashes.own, documents);
  if (erasedAt === undefined) return undefined;
  return { kind: "end", state: "CANCELLED", reason: "erased", erasedAt };
}

export const texts: Texts = {
  erased: { means: "An operator erased what was stored about the number." },
};
