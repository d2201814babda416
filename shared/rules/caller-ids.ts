import { withCallerId } from "../policy/caller-ids.ts";
import type { Facts, Passage, Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** Chooses the number of the route's pool from which the callee is called. The call waits while all of them rest. */
export function admit(
  { call, target }: ResolvedCall,
  { documents, now }: Pick<Facts, "documents" | "now">,
): Verdict | Passage | undefined {
  if (target?.route.callerIds === undefined) return undefined;
  const route = withCallerId(target.route, call.request.phone_number, { documents, now });
  return route === undefined ? { kind: "hold", reason: "caller_ids" } : { route };
}
