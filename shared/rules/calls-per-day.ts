import { countedIn } from "../policy/day-counts.ts";
import type { Facts, Verdict } from "./rule.ts";
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
  return { kind: "hold", reason: "calls_per_day" };
}
