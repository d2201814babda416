import type { Route } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { countOnDay } from "./account-days.ts";
import { countOnCaps } from "./number-caps.ts";

/**
 * Counts a call that may have rung although its claim was given back, towards its number's caps and its account's day,
 * whether or not they have room. It is done before the row says so: after a crash, one call too few may go on a day. A
 * retry, or another proof of the same call at the same time, counts nothing more.
 *
 * @returns a function that gives the day's count back, if the row turns out to have moved on
 */
export async function countAgain(
  { row, claim }: { row: CallRow; claim: string },
  route: Route,
  deps: Pick<
    DialerDeps,
    "documents" | "clock" | "random" | "settings" | "log" | "sharesStatements"
  >,
): Promise<() => Promise<void>> {
  await countOnCaps({ row, version: claim }, route, deps);
  return countOnDay(row, route, deps);
}

/**
 * True if what was taken under a call's last claim was given back, because the answer said that nothing was placed. A call
 * that was UNKNOWN since is counted.
 */
export function isGivenBack({ state, history }: Pick<CallRow, "state" | "history">): boolean {
  if (state === "UNKNOWN") return false;
  const last = history.findLastIndex((step) => step.state === "DIALING");
  return last !== -1 && history.slice(last).every((step) => step.state !== "UNKNOWN");
}
