import { erasureKeyOf, findErasure } from "../policy/controls.ts";
import type { Facts, KeyedNumber, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";
import type { DocumentKey } from "../ports/document-kinds.ts";

export function keys({ hashes }: KeyedNumber): DocumentKey[] {
  return (hashes?.own ?? []).map(erasureKeyOf);
}

/** Everything was erased that was known of the call's number. */
export function admit(
  { call, hashes }: ResolvedCall,
  { documents }: Pick<Facts, "documents">,
): Verdict | undefined {
  const erasedAt = hashes && findErasure(call, hashes.own, documents);
  if (erasedAt === undefined) return undefined;
  return { kind: "end", state: "CANCELLED", reason: "erased", erasedAt };
}

export const texts: Texts = {
  erased: { means: "An operator had everything erased that was known of the number." },
};
