import { mayBeDialed } from "../dial-plan/dial-plan.ts";
import type { Facts, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** The plan permits no calls to the number. */
export function admit(
  { call }: ResolvedCall,
  { table }: Pick<Facts, "table">,
): Verdict | undefined {
  if (mayBeDialed(call, table.plan)) return undefined;
  return { kind: "end", state: "REJECTED", reason: "destination_denied" };
}

export const texts: Texts = {
  destination_denied: { means: "The dial plan does not permit calls to the number's destination." },
};
