import { findCancellation } from "../policy/controls.ts";
import type { Facts, Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/** An operator or the client has cancelled the call, by its agent or its request. */
export function admit(
  { call }: ResolvedCall,
  { documents }: Pick<Facts, "documents">,
): Verdict | undefined {
  const reason = findCancellation(call, documents);
  return reason === undefined ? undefined : { kind: "end", state: "CANCELLED", reason };
}
