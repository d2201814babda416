import type { Facts, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** The route's provider cannot carry the call's context whole. It was checked at acceptance, but the route may have changed. */
export function admit(
  { call, target }: ResolvedCall,
  { table }: Pick<Facts, "table">,
): Verdict | undefined {
  if (target === undefined) return undefined;
  if (table.kinds.contextProblem(call.request, target.route) === undefined) return undefined;
  return { kind: "end", state: "REJECTED", reason: "context_not_carried" };
}

export const texts: Texts = {
  context_not_carried: {
    means: "The provider of the agent's route cannot carry the call's context whole.",
  },
};
