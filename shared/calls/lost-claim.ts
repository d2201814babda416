import type { Route } from "./call-request.ts";
import type { CallRow } from "./call-row.ts";
import type { CallResult } from "./call-result.ts";
import { states } from "./states.ts";
import { applySettlement, toUnknown, type Write } from "./transitions.ts";

/** A claim that a restore lost, or whose own answer said that it placed nothing, as a signed callback names it. */
export interface ProvedClaim {
  claim: string;
  /** Route of the callback's account. */
  route: Route;
  /** Number of the claim among the call's. */
  attempt: number;
  /** First poll for the result. Undefined: the callback brings it. */
  pollAt: number | undefined;
}

/** Results of calls that rang. */
const ringing: ReadonlySet<string> = /* @__PURE__ */ new Set([
  "completed",
  "voicemail",
  "busy",
  "no_answer",
  "declined",
]);

/**
 * True if a signed result outweighs the answer that its request placed nothing, as a gateway before the provider may
 * have given that answer.
 */
export function hasRung(result: Pick<CallResult, "status"> | undefined): boolean {
  return result !== undefined && ringing.has(result.status);
}

/** Results of calls that rang, and to which nobody reacted. */
const unanswered: ReadonlySet<string> = /* @__PURE__ */ new Set(["busy", "no_answer"]);

/** True if a call's callee, or a machine, answered or declined it. */
export function wasAnswered(result: Pick<CallResult, "status"> | undefined): boolean {
  return result !== undefined && hasRung(result) && !unanswered.has(result.status);
}

/**
 * Applies a signed proof that a claim placed the call: the row becomes PLACED under that claim. A call that is being
 * dialed, or was placed under a claim that is newer, stays as it is.
 */
export function proveClaimPlaced(
  row: CallRow,
  { claim, route, attempt, pollAt }: ProvedClaim,
  { version, at }: Write,
): CallRow | undefined {
  if (states[row.state].placed === "now" || hasNewerClaim(row)) return undefined;
  const known = {
    ...row,
    claims: row.claims.includes(claim) ? row.claims : [...row.claims, claim],
    attempt: Math.max(row.attempt, attempt),
    route: row.route?.account === route.account ? row.route : route,
    claimedAt: row.claimedAt ?? at,
  };
  if (row.state === "PLACED") return { ...known, version };
  const placed = { id: row.id, claim, state: "PLACED", reason: "found", at } as const;
  return applySettlement(known, pollAt === undefined ? placed : { ...placed, pollAt }, version);
}

/** True if a call was placed under a claim of its own: not by an operator's word, nor found after a restore. */
function hasNewerClaim({ state, claims, lostUntil }: CallRow): boolean {
  return state === "PLACED" && lostUntil === null && claims.length > 0;
}

/**
 * Applies a callback without a proof about a released claim: a waiting row becomes UNKNOWN under that claim, as a
 * provider reports only calls that it has. Other rows stay as they are.
 *
 * @param dueAt the first look-up, or the review
 */
export function doubtRelease(
  row: CallRow,
  { claim, dueAt }: { claim: string; dueAt: number },
  write: Write,
): CallRow | undefined {
  if (row.state !== "WAITING" || row.released?.includes(claim) !== true) return undefined;
  return { ...toUnknown(row, { reason: "answer_doubted", dueAt }, write), claims: [claim] };
}
