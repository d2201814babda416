import { overCapMs } from "../lib/timing.ts";
import type { Route } from "../calls/call-request.ts";
import type { ClaimedCall, Taking, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/**
 * Judges a call whose number has been called as often as its caps allow: it waits until the number is free. If that
 * is after its lifetime, the call waits once, for a call under way that may still be removed from the cap, and then
 * expires.
 *
 * @param freeAt time at which the number is free, in milliseconds since the epoch
 */
export function judgeFull(
  {
    expiresAt,
    row,
  }: { expiresAt: number; row: Pick<NonNullable<ResolvedCall["row"]>, "reason"> | undefined },
  { freeAt, now }: { freeAt: number; now: number },
): Exclude<Verdict, { kind: "hold" }> {
  const reason = "max_calls";
  if (freeAt < expiresAt) return { kind: "later", reason, at: freeAt };
  if (row?.reason === reason) return { kind: "end", state: "EXPIRED", reason };
  return { kind: "later", reason, at: Math.min(now + overCapMs, expiresAt) };
}

/** The caps of the numbers of one delivery's calls. */
export interface NumberCaps {
  /** Counts a call at the time of its permit. `freeAt`: undefined if that is not known, or if there is no permit. */
  count(
    claim: ClaimedCall,
    route: Route,
    permit: Promise<{ permitAt: number } | undefined>,
  ): Promise<{ isCounted: true } | { isCounted: false; freeAt: number | undefined }>;
  /** Removes the entry of a call that surely was not placed. Never throws. */
  release(claim: ClaimedCall, route: Route): Promise<void>;
}

/** Counts the call towards the caps of its number. After an error it may be counted, and is given back. */
export function take(
  claim: ClaimedCall,
  {
    caps,
    permit,
    clock,
  }: {
    caps: NumberCaps;
    permit: Promise<{ permitAt: number } | undefined>;
    clock: { now(): number };
  },
): Taking {
  const { dial } = claim;
  const { route } = dial.target;
  let refused: { freeAt: number | undefined } | undefined;
  const settled = caps.count(claim, route, permit).then((count) => {
    refused = count.isCounted ? undefined : count;
    return count;
  });
  return {
    settled,
    verdict() {
      if (refused === undefined) return undefined;
      const { freeAt } = refused;
      if (freeAt === undefined) return { kind: "hold", reason: "max_calls" };
      return judgeFull(dial, { freeAt, now: clock.now() });
    },
    give: async () => (refused === undefined ? caps.release(claim, route) : undefined),
  };
}

export const texts: Texts = {
  max_calls: {
    means:
      "The number has been called as often as the plan's maxCalls allow; of an EXPIRED call: that kept it waiting last.",
    holds: (name) => `The numbers were called as often as they may be${ruleText(name)}.`,
    endedBy: "time",
  },
};

function ruleText(rule: string): string {
  return rule === "" ? "" : ` (${rule})`;
}
