import type { Call } from "../calls/call-request.ts";
import type { Decided } from "../calls/transitions.ts";
import { type DecisionInputs, decideEnd } from "./decide.ts";

/**
 * Reasons for which a call gets a first row without a look at its turn. `dead_letter`: its message failed a hundred times.
 * `restored`: it may have been dialed before the ledger was restored.
 */
export type UndecidedReason = "dead_letter" | "restored";

/**
 * Decides the first row of a call that nobody can dial now. The controls come first: an operator may redial a call that needs
 * review, and must not be handed one that was cancelled or whose number was erased. A call that may have been dialed neither
 * expires nor is refused, as that would say that nobody was phoned.
 *
 * @param known with the documents of the call's number, by `readControlDocuments`
 * @throws if only a later version can read a document, or if the list may have entries under another HASH_KEY
 */
export function decideFirst(
  call: Call,
  reason: UndecidedReason,
  known: DecisionInputs,
): Exclude<Decided, { state: "WAITING" }> {
  const end = decideEnd(known.resolver.resolve(call, undefined), known.now, known);
  const review = { state: "NEEDS_REVIEW", reason } as const;
  if (end === undefined || end.state === "WAITING") return review;
  if (reason === "restored") return end.state === "CANCELLED" ? end : review;
  return end.state === "EXPIRED" ? { ...end, reason } : end;
}
