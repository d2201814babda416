import { errorForLog, type Log } from "../lib/log.ts";
import { countCalls, countedIn, nextDayAt, releaseCalls } from "../policy/day-counts.ts";
import type { Documents } from "../ports/documents.ts";
import type { ClaimedCall, Facts, Taking, Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

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

/** Stores that count the days of accounts. */
interface DayDeps {
  documents: Pick<Documents, "add">;
  log: Log;
}

/**
 * Counts the call towards the day of its claim, unless it is a resend. After an error it is not given back: one call too
 * few on a day is better than one too many.
 */
export function take(claim: ClaimedCall, deps: DayDeps): Taking {
  const isLimited = claim.dial.target.account.callsPerDay !== undefined && !claim.row.resent;
  let isTaken: boolean | undefined;
  const enter = async () => {
    if (isLimited) isTaken = await enterDay(claim, deps);
  };
  return {
    settled: enter(),
    verdict: () => (isTaken === false ? held : undefined),
    give: async () => (isTaken === true ? leaveDay(claim, deps) : undefined),
  };
}

/** Returns false if the account has placed as many calls as it may on the day of the claim. */
async function enterDay({ dial, row }: ClaimedCall, { documents, log }: DayDeps): Promise<boolean> {
  const { account, route } = dial.target;
  const at = row.claimedAt ?? 0;
  const { name, mode, callsPerDay: limit = Infinity } = account;
  const counted = await countCalls({ account: name }, { at, calls: 1, limit }, documents);
  if (counted.isCounted) return true;
  if (counted.isFirst) {
    const until = new Date(nextDayAt(at)).toISOString();
    const fields = { provider: route.provider, due_at: until };
    log(mode === "test" ? "info" : "alarm", "account.calls_per_day", fields);
  }
  return false;
}

/** Gives back the count. If this fails, the account may place fewer calls on this day. */
async function leaveDay({ dial, row }: ClaimedCall, { documents, log }: DayDeps): Promise<void> {
  const of = { account: dial.target.account.name };
  const at = row.claimedAt ?? 0;
  await releaseCalls(of, { at, calls: 1 }, documents).catch((error: unknown) => {
    log("warning", "guard.release_failed", { call_id: row.id, error: errorForLog(error) });
  });
}
