import { countedIn, dayKeyOf, nextDayAt } from "../policy/day-counts.ts";
import type {
  ClaimedCall,
  KeyedAccount,
  Room,
  RoomFacts,
  SimulatedLimit,
  Taking,
  Used,
  Verdict,
  Texts,
  ReadFacts,
} from "./rule.ts";
import type { ResolvedCall, ResolvedRoute } from "./resolved-call.ts";
import type { DocumentKey } from "../ports/document-kinds.ts";
import type { ResolvedAccount } from "../dial-plan/route-table.ts";

export function keys({ target }: KeyedAccount, now: number): DocumentKey[] {
  const { name = "", callsPerDay } = target?.account ?? {};
  return callsPerDay === undefined ? [] : [dayKeyOf({ account: name }, now)];
}

/** The account has placed as many calls on this day (UTC) as it may. */
export function admit(
  { target }: ResolvedCall,
  { documents, now }: ReadFacts,
): Verdict | undefined {
  return target !== undefined && freeOn(target.account, { documents, now }) <= 0 ? held : undefined;
}

/** The account's calls wait for its next day. */
export function restsUntil(
  { account }: Pick<ResolvedRoute, "account">,
  { documents, now }: ReadFacts,
): number {
  return freeOn(account, { documents, now }) <= 0 ? nextDayAt(now) : 0;
}

/** Returns how many more calls the account may place on the day of `now`. */
function freeOn({ name, callsPerDay }: ResolvedAccount, { documents, now }: ReadFacts): number {
  if (callsPerDay === undefined) return Infinity;
  return callsPerDay - countedIn(documents, { account: name }, now);
}

export function room(
  account: ResolvedAccount,
  { documents, now, sent, inFlight }: Omit<RoomFacts, "countOthers">,
): Room | undefined {
  if (account.callsPerDay === undefined) return undefined;
  const count = freeOn(account, { documents, now }) - sent;
  return { count, why: "calls_per_day", ...(count > 0 ? {} : { most: inFlight }) };
}

export function used(
  { name: account, callsPerDay: limit }: ResolvedAccount,
  { documents, now }: ReadFacts,
): Used | undefined {
  if (limit === undefined) return undefined;
  return { reason: "calls_per_day", now: countedIn(documents, { account }, now), limit };
}

const held = { kind: "hold", reason: "calls_per_day" } as const;

/** Days after the first have none of the account's calls yet. */
export function simulate(
  { name, callsPerDay }: ResolvedAccount,
  { documents, now }: ReadFacts,
): SimulatedLimit | undefined {
  if (callsPerDay === undefined) return undefined;
  const counts = new Map([[nextDayAt(now), countedIn(documents, { account: name }, now)]]);
  const countOn = (at: number) => counts.get(nextDayAt(at)) ?? 0;
  return {
    limit: "calls_per_day",
    freeAt: (at) => (countOn(at) < callsPerDay ? at : nextDayAt(at)),
    begin: (at) => void counts.set(nextDayAt(at), countOn(at) + 1),
    isCause: ({ ready, freeAt }) => freeAt > ready,
  };
}

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

export const texts: Texts = {
  calls_per_day: {
    means:
      "The account has reached its callsPerDay of this day (UTC): the call waits for the next day.",
    holds: (name) => `Account ${name} has reached its callsPerDay of this day (UTC).`,
    endedBy: "time",
    isOfAccount: true,
    counts: "calls today (UTC)",
  },
};
