import type { ClockFacts, Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** A fresh call that is to be checked waits for its turn: the dispatcher bounds how many wait for a check's answer. */
export function admit({ row, target }: ResolvedCall): Verdict | undefined {
  const isChecked = target?.route.checks !== undefined;
  return row === undefined && isChecked ? { kind: "hold", reason: "turn" } : undefined;
}

function isOutdated({ permission, now }: Pick<ClockFacts, "permission" | "now">): boolean {
  return permission !== undefined && now > permission.validUntil;
}

/** The permission is outdated before the claim: the checks are asked again with the call's next dispatch. */
export function beforeClaim(_call: unknown, facts: ClockFacts): Verdict | undefined {
  return isOutdated(facts) ? { kind: "hold", reason: "turn" } : undefined;
}

/** The permission is outdated under the claim. */
export function stay(
  _call: unknown,
  facts: Pick<ClockFacts, "permission" | "now">,
): Verdict | undefined {
  return isOutdated(facts) ? { kind: "hold", reason: "check_outdated" } : undefined;
}
