import type { Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** The plan has no route for the agent. */
export function admit({ target }: ResolvedCall): Verdict | undefined {
  return target === undefined ? { kind: "hold", reason: "route_gone" } : undefined;
}
