import { contextProblem } from "../providers/routes.ts";
import type { Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** The route's provider cannot carry the call's context whole. It was checked at acceptance, but the route may have changed. */
export function admit({ call, target }: ResolvedCall): Verdict | undefined {
  if (target === undefined || contextProblem(call.request, target.route) === undefined) {
    return undefined;
  }
  return { kind: "end", state: "REJECTED", reason: "context_not_carried" };
}
