import type { Texts } from "./reason-text.ts";

/** Divides a reason at its colon: `check_wait:crm` is `check_wait`, by the check `crm`. */
export function divideReason(reason: string): { reason: string; name: string } {
  const at = reason.indexOf(":");
  if (at === -1) return { reason, name: "" };
  return { reason: reason.slice(0, at), name: reason.slice(at + 1) };
}

/** Texts of the reasons that no rule gives: the outcome of a claim, a request or an operator's decision. */
export const reasonsOfRows: Texts = {
  accepted: { means: "The API accepted the call." },
  answer_doubted: {
    means: "The provider refused the call, but a callback names it.",
  },
  call_back: {
    means: "The callee asked to be called back, and the call waits for that time.",
    holds: () => "Their callees asked to be called back later.",
    endedBy: "time",
  },
  claim_lapsed: { means: "The dialer that claimed the call never reported its outcome." },
  claimed: { means: "A dialer has taken the call and is about to dial." },
  found: { means: "The provider's records show that the call was placed." },
  not_checked: {
    means: "What decides on the call could not be read in time, so nothing was sent.",
  },
  not_found: { means: "The provider was asked for the call and has no record of it yet." },
  not_read: { holds: () => "Not all that waits could be read." },
  operator: { means: "An operator decided this." },
  outcome_unknown: {
    means: "Whether the call was placed is not known: a person decides.",
  },
  permit_void: { means: "The request could not leave at the time of its permit." },
  placed: { means: "The provider accepted the call." },
  resent: { means: "The request was sent again, to a provider that ignores a repeated request." },
  result_contradicted: {
    means: "The provider reported another result than before; the first one stays.",
  },
  retry: {
    means: "The call was tried before and waits for the time of its retry.",
    endedBy: "time",
  },
};
