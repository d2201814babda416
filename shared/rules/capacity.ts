import { claimAgeMsMax } from "../calls/transitions.ts";
import type { ClockFacts, Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** Time reserved after a request for the settlement, its retries, and the acknowledgement of the message. */
const afterRequestMs = 20_000;

/** A request that begins now might not end before the invocation does. */
export function beforeClaim(
  { target }: ResolvedCall,
  { now, deadline }: Pick<ClockFacts, "now" | "deadline">,
): Verdict | undefined {
  const requestMs = (target?.account.timeoutSeconds ?? 0) * 1000;
  if (now + claimAgeMsMax + requestMs + afterRequestMs <= deadline) return undefined;
  return { kind: "hold", reason: "no_capacity" };
}
