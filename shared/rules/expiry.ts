import type { Facts, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** Reason of a call whose lifetime ended, whatever delayed it. */
export const reason = "expired";

type Asked = Pick<ResolvedCall, "expiresAt">;

/** The call's lifetime ends by the time at which it would leave. */
export function admit({ expiresAt }: Asked, { at }: Pick<Facts, "at">): Verdict | undefined {
  return stay({ expiresAt }, { now: at });
}

/** The call's lifetime has ended under its claim. */
export function stay({ expiresAt }: Asked, { now }: Pick<Facts, "now">): Verdict | undefined {
  return now < expiresAt ? undefined : { kind: "end", state: "EXPIRED", reason };
}

export const texts: Texts = {
  expired: {
    means:
      "The call was not dialed within the plan's expireAfterHours, or a call-back within two hours.",
  },
};
