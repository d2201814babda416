import { afterRequestMs, requestEndsBy } from "../lib/timing.ts";
import type { ResolvedAccount } from "../dial-plan/route-table.ts";
import type { ClockFacts, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

export const held = { kind: "hold", reason: "no_capacity" } as const;

/** A request that begins now might not end before the invocation does. */
export function beforeClaim(
  { target }: ResolvedCall,
  { now, deadline }: Pick<ClockFacts, "now" | "deadline">,
): Verdict | undefined {
  const requestMs = (target?.account.timeoutSeconds ?? 0) * 1000;
  if (requestEndsBy(now, requestMs) + afterRequestMs <= deadline) return undefined;
  return held;
}

/** Returns the maximum requests at once of accounts, by name. Undefined: the plan has none. */
export function limitsOf(accounts: readonly ResolvedAccount[]): Map<string, number | undefined> {
  return new Map(accounts.map(({ name, concurrency }) => [name, concurrency]));
}

export const texts: Texts = {
  no_capacity: {
    means: "The account had its maximum of requests in flight, or the delivery had no time left.",
  },
};
