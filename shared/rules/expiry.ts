import type { Facts, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** Reason of a call whose lifetime ended, whatever delayed it. */
export const reason = "expired";

type Asked = Pick<ResolvedCall, "expiresAt" | "row">;

/** The call's lifetime ends by the time at which it would leave: `max_calls` if it last waited for the caps of its number. */
export function admit({ expiresAt, row }: Asked, { at }: Pick<Facts, "at">): Verdict | undefined {
  if (at < expiresAt) return undefined;
  const why = row?.reason === "max_calls" ? "max_calls" : reason;
  return { kind: "end", state: "EXPIRED", reason: why };
}

/** The call's lifetime has ended under its claim. */
export function stay(
  { expiresAt }: Pick<ResolvedCall, "expiresAt">,
  { now }: Pick<Facts, "now">,
): Verdict | undefined {
  return now < expiresAt ? undefined : { kind: "end", state: "EXPIRED", reason };
}

export const texts: Texts = {
  expired: { means: "The call was not dialed within the plan's expireAfterHours." },
};
