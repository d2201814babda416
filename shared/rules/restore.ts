import type { Facts, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/**
 * The ledger was restored: nothing is dialed until that is dealt with. A call may have been dialed in the time that was
 * lost, so not even its end is decided.
 */
export function admit(
  { call }: ResolvedCall,
  { isSuspended }: Pick<Facts, "isSuspended">,
): Verdict | undefined {
  if (!isSuspended) return undefined;
  // Due since its acceptance, so that `mayHaveBeenDialed` can compare it with the restore's time.
  return { kind: "hold", reason: "restored", firstDueAt: call.acceptedAt };
}

export const texts: Texts = {
  restored: {
    means:
      "The ledger was restored to an earlier state, and the call may have been dialed meanwhile.",
    holds: () => "The ledger was restored: nothing is dialed.",
    endedBy: "person",
    stops: true,
  },
};
