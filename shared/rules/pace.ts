import { claimAheadMsMax, freshPermitMsMax } from "../lib/timing.ts";
import { findNextPermitAt } from "../policy/account-pace.ts";
import type { Facts, Taking, Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** The account's pace has no permit for the call soon. A call that would wait for one longer waits in the ledger. */
export function admit(
  { row, target }: ResolvedCall,
  { documents, now, ahead }: Pick<Facts, "documents" | "now" | "ahead">,
): Verdict | undefined {
  const { name = "", pace } = target?.account ?? {};
  if (pace === undefined) return undefined;
  const others = ahead.get(name);
  const permitAt = findNextPermitAt(name, { pace, others }, { documents, now });
  const waitMsMax = row === undefined ? freshPermitMsMax : claimAheadMsMax;
  return permitAt > now + waitMsMax ? { kind: "hold", reason: "pace" } : undefined;
}

/** Takes a permit of the account's pace. An unused permit is not given back: its moment passes. */
export function take(
  _claim: unknown,
  { permit }: { permit: Promise<{ permitAt: number } | undefined> },
): Taking {
  let isLate = false;
  const settled = permit.then((taken) => {
    isLate = taken === undefined;
    return taken;
  });
  const verdict = (): Verdict | undefined =>
    isLate ? { kind: "hold", reason: "pace" } : undefined;
  return { settled, verdict, give: async () => undefined };
}
