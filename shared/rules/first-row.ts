import { type Facts, findVerdict, type Judge, type Texts, type Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** Facts of a call that nobody can dial now. */
export type FirstRowFacts = Pick<Facts, "now" | "at" | "documents" | "table" | "schedule">;

/**
 * Decides the first row of a call that nobody can dial now, as its message failed a hundred times (`dead_letter`). The controls
 * come first: an operator may redial a call that needs review, and must not be handed one that was cancelled or whose number
 * was erased.
 *
 * @param facts with the documents of the call's number, by `readControlDocuments`
 * @throws if only a later version can read a document, or if the list may have entries under another HASH_KEY
 */
export function judgeFirstRow(
  call: ResolvedCall,
  ends: readonly Judge<FirstRowFacts>[],
  facts: FirstRowFacts,
): Extract<Verdict, { kind: "end" }> {
  const end = findVerdict(ends, call, { ...facts, at: facts.now });
  const reason = "dead_letter";
  if (end?.kind !== "end") return { kind: "end", state: "NEEDS_REVIEW", reason };
  return end.state === "EXPIRED" ? { ...end, reason } : end;
}

export const texts: Texts = {
  dead_letter: { means: "The call's message failed a hundred times and left the queue." },
};
