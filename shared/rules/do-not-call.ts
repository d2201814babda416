import {
  clientEntryOf,
  doNotCallKeyOf,
  doNotCallKeysOf,
  isOfOtherKey,
  isOnDoNotCallList,
} from "../policy/number-entries.ts";
import type { Facts, KeyedNumber, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";

export function keys({ hashes }: Pick<ResolvedCall, "hashes">): DocumentKey[] {
  return doNotCallKeysOf(hashes?.asked ?? []);
}

/** Names the entries of the number alone. */
export function numberKeys({ hashes }: Pick<ResolvedCall, "hashes">): DocumentKey[] {
  return (hashes?.asked ?? []).map(doNotCallKeyOf);
}

/** Names the entries for the calls of the client alone. */
export function clientKeys({ call, hashes }: KeyedNumber): DocumentKey[] {
  const asked = hashes?.asked ?? [];
  return asked.map((hash) => doNotCallKeyOf(clientEntryOf(hash, call.client)));
}

/**
 * The number is on the do-not-call list. A number whose documents were not read counts as absent.
 *
 * @throws OtherKeyError if entries may stand under another HASH_KEY
 */
export function admit(
  { call, hashes }: ResolvedCall,
  { documents }: Pick<Facts, "documents">,
): Verdict | undefined {
  if (hashes === undefined) return undefined;
  const listed = { hashes: hashes.asked, client: call.client };
  if (!isOnDoNotCallList(listed, documents, hashes.keyNames)) return undefined;
  return { kind: "end", state: "REJECTED", reason: "do_not_call" };
}

/** Returns the reason for which every call waits while entries may stand under a key that is not held. */
export function holdsAll(
  documents: DocumentsRead,
  keyNames: readonly string[],
): string | undefined {
  return isOfOtherKey(documents, keyNames) ? "other_hash_key" : undefined;
}

export const texts: Texts = {
  do_not_call: { means: "The number is on the do-not-call list." },
  other_hash_key: {
    holds: () => "The do-not-call list was made under another HASH_KEY.",
    endedBy: "person",
  },
};
