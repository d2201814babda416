import { claimAheadMsMax } from "../lib/timing.ts";
import { listNotClosedBreakers, listOpenBreakers, mayProbe } from "../policy/breakers.ts";
import type { Facts, KeyedBacklog, Passage, Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";
import type { DocumentKey } from "../ports/document-kinds.ts";

type Asked = Pick<Facts, "documents">;

export function keys({ target }: KeyedBacklog): DocumentKey[] {
  return (target?.breakers ?? []).map((key) => ({ kind: "breaker", key }));
}

const held = { kind: "hold", reason: "breaker_open" } as const;

/** A breaker is open that the call may not probe soon. A fresh call probes none: it needs all of them closed. */
export function admit(
  { row, of, target }: ResolvedCall,
  { documents, now }: Asked & Pick<Facts, "now">,
): Verdict | undefined {
  if (target === undefined) return undefined;
  if (row === undefined) {
    return listNotClosedBreakers(target.breakers, documents).length > 0 ? held : undefined;
  }
  const soon = now + claimAheadMsMax;
  const open = listOpenBreakers(target.breakers, documents);
  return open.some((breaker) => !mayProbe(breaker, of, soon)) ? held : undefined;
}

/** Under an open breaker a call waits for the time of the next probe, as it waits for its due time. */
export function probeTime(
  { of, target }: ResolvedCall,
  { documents, now }: Asked & Pick<Facts, "now">,
): Passage | undefined {
  const open = listOpenBreakers(target?.breakers ?? [], documents);
  if (open.length === 0) return undefined;
  const times = open.map((one) => (mayProbe(one, of, now) ? 0 : one.value.probeAt));
  return { notBefore: Math.max(...times) };
}

/** A breaker has opened since the call was admitted, which saves a useless claim. */
export function beforeClaim(
  { of, target }: ResolvedCall,
  { documents, at }: Asked & Pick<Facts, "at">,
): Verdict | undefined {
  const open = listOpenBreakers(target?.breakers ?? [], documents);
  return open.every((one) => mayProbe(one, of, at)) ? undefined : held;
}
