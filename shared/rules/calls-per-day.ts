import { countedIn, dayKeyOf } from "../policy/day-counts.ts";
import type { ClaimedCall, Facts, KeyedAccount, Taking, Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";
import type { DocumentKey } from "../ports/document-kinds.ts";

export function keys({ target }: KeyedAccount, now: number): DocumentKey[] {
  const { name = "", callsPerDay } = target?.account ?? {};
  return callsPerDay === undefined ? [] : [dayKeyOf({ account: name }, now)];
}

/** The account has placed as many calls on this day (UTC) as it may. */
export function admit(
  { target }: ResolvedCall,
  { documents, now }: Pick<Facts, "documents" | "now">,
): Verdict | undefined {
  const { name = "", callsPerDay } = target?.account ?? {};
  if (callsPerDay === undefined || countedIn(documents, { account: name }, now) < callsPerDay) {
    return undefined;
  }
  return held;
}

const held = { kind: "hold", reason: "calls_per_day" } as const;

/** The days of the accounts of one delivery's calls. */
export interface AccountDays {
  /** Counts a claimed call towards the day of its claim. Resolves to false if the account has placed as many as it may. */
  enter(claim: ClaimedCall): Promise<boolean>;
  /** Gives the count back. Never throws. */
  leave(claim: ClaimedCall): Promise<void>;
}

/**
 * Counts the call towards the day of its claim, unless it is a resend. After an error it is not given back: one call too
 * few on a day is better than one too many.
 */
export function take(claim: ClaimedCall, { days }: { days: AccountDays }): Taking {
  const isLimited = claim.dial.target.account.callsPerDay !== undefined && !claim.row.resent;
  let isTaken: boolean | undefined;
  const enter = async () => {
    if (isLimited) isTaken = await days.enter(claim);
  };
  return {
    settled: enter(),
    verdict: () => (isTaken === false ? held : undefined),
    give: async () => (isTaken === true ? days.leave(claim) : undefined),
  };
}
