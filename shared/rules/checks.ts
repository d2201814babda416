import type { ClockFacts, Verdict, Texts } from "./rule.ts";
import { checksMsMax } from "../lib/timing.ts";
import type { ResolvedCall, ResolvedRoute } from "./resolved-call.ts";

/** A fresh call with checks waits for its turn: the dispatcher limits how many wait for a check's answer. */
export function admit({ row, target }: ResolvedCall): Verdict | undefined {
  const isChecked = target?.route.checks !== undefined;
  return row === undefined && isChecked ? { kind: "hold", reason: "turn" } : undefined;
}

/** Its checks are asked before the claim. */
export function leads({ route }: Pick<ResolvedRoute, "route">): number {
  return route.checks === undefined ? 0 : checksMsMax;
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

export const texts: Texts = {
  check_failed: {
    means:
      "The check after the colon gave no valid answer: the call waits and the check is asked again.",
    holds: (name) => `Check ${name} gave no valid answer and is asked again.`,
    endedBy: "provider",
  },
  check_never: { means: "The check after the colon put the number onto the do-not-call list." },
  check_outdated: { means: "The answer of a check was no longer valid, so nothing was sent." },
  check_refused: {
    means: "The check after the colon refused the call, for the reason that follows it.",
  },
  check_wait: {
    means: "The check after the colon asked for the call to wait.",
    holds: (name) => `Check ${name} asked to wait.`,
    endedBy: "time",
  },
};
