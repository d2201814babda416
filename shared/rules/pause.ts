import { isPaused } from "../policy/controls.ts";
import type { Facts, Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** An operator has paused the call's agent, account or client, or its agent is paused for its results. */
export function admit(
  { target }: ResolvedCall,
  { documents }: Pick<Facts, "documents">,
): Verdict | undefined {
  if (target === undefined || !isPaused(target.pauses, documents)) return undefined;
  return { kind: "hold", reason: "paused" };
}
