import type { Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** The plan has no route for the agent. */
export function admit({ target }: ResolvedCall): Verdict | undefined {
  return target === undefined ? { kind: "hold", reason: "route_gone" } : undefined;
}

export const texts: Texts = {
  route_gone: {
    means: "The dial plan no longer has a route for the agent: the call waits for one.",
    holds: (name) => `The dial plan has no route for agent ${name}.`,
    endedBy: "person",
  },
};
