import { claimAheadMsMax } from "../lib/timing.ts";
import { listNotClosedBreakers, listOpenBreakers, mayProbe } from "../policy/breakers.ts";
import type { Facts, Holder, KeyedBacklog, Passage, Room, RoomFacts, Verdict } from "./rule.ts";
import type { ResolvedCall, ResolvedRoute } from "./resolved-call.ts";
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

/** An open breaker leaves one call at a time, and a half-open one as many as were answered. */
export function room(
  _account: unknown,
  { breaker, inFlight }: Pick<RoomFacts, "breaker" | "inFlight">,
): Room | undefined {
  const { state, room: opened = 0 } = breaker?.value ?? {};
  // The backlog's own allowance decides which backlog may probe.
  if (state === "open") return { count: inFlight === 0 ? 1 : 0, why: "breaker_open", most: 1 };
  return state === "half_open" ? { count: opened - inFlight } : undefined;
}

/** Half-open, an account that answers quickly soon is as fast as before. */
export function holders(
  { account, breakers }: ResolvedRoute,
  { documents }: Pick<Facts, "documents">,
): Holder[] {
  const isQuick = documents.get("account", account.name)?.value.quick === true;
  return listNotClosedBreakers(breakers, documents).flatMap(({ key, value }) =>
    value.state === "half_open" && isQuick
      ? []
      : { reason: "breaker_open", name: key, until: null },
  );
}
