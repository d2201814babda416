import type { Call } from "../calls/call-request.ts";
import { dayMs, hourMs } from "../lib/units.ts";
import type { DialPlan } from "./plan-schema.ts";

/** Returns the time for which a plan keeps a row, in whole milliseconds: D1's column of expiries takes no fraction. */
export function retentionMsOf({ retentionDays }: Pick<DialPlan, "retentionDays">): number {
  return Math.ceil(retentionDays * dayMs);
}

/** Returns the time at which an undialed call expires, in milliseconds since the epoch. */
export function expiryOf(
  { acceptedAt, tries }: Pick<Call, "acceptedAt" | "tries">,
  plan: DialPlan,
): number {
  if (tries?.promisedAt !== undefined) return tries.until;
  const expiresAt = Math.round(acceptedAt + plan.expireAfterHours * hourMs);
  return tries === undefined || tries.number === 1 ? expiresAt : Math.min(expiresAt, tries.until);
}
