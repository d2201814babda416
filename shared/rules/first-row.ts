import { type Facts, findVerdict, type Judge, type Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/**
 * Reasons for which a call gets a first row without a look at its turn. `dead_letter`: its message failed a hundred times.
 * `restored`: it may have been dialed before the ledger was restored.
 */
export type UndecidedReason = "dead_letter" | "restored";

export type FirstRowFacts = Omit<Facts, "ahead" | "requestsAtOnce" | "isSuspended">;

/**
 * Decides the first row of a call that nobody can dial now. The controls come first: an operator may redial a call that needs
 * review, and must not be handed one that was cancelled or whose number was erased. A call that may have been dialed neither
 * expires nor is refused, as that would say that nobody was phoned.
 *
 * @param facts with the documents of the call's number, by `readControlDocuments`
 * @throws if only a later version can read a document, or if the list may have entries under another HASH_KEY
 */
export function judgeFirstRow(
  call: ResolvedCall,
  { reason, ends }: { reason: UndecidedReason; ends: readonly Judge<FirstRowFacts>[] },
  facts: FirstRowFacts,
): Extract<Verdict, { kind: "end" }> {
  const end = findVerdict(ends, call, { ...facts, at: facts.now });
  const review = { kind: "end", state: "NEEDS_REVIEW", reason } as const;
  if (end?.kind !== "end") return review;
  if (reason === "restored") return end.state === "CANCELLED" ? end : review;
  return end.state === "EXPIRED" ? { ...end, reason } : end;
}
