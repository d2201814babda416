import type { Facts, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** The client does not want the call dialed before a time (`Call-Not-Before`). */
export function admit(
  { call: { notBefore } }: Pick<ResolvedCall, "call">,
  { at }: Pick<Facts, "at">,
): Verdict | undefined {
  if (notBefore === undefined || notBefore <= at) return undefined;
  return { kind: "later", reason: "not_before", at: notBefore };
}

export const texts: Texts = {
  not_before: {
    means: "The client does not want the call dialed before this time (Call-Not-Before).",
    holds: () => "The client wants them later (Call-Not-Before).",
    endedBy: "time",
  },
};
