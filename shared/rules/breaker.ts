import { claimAheadMsMax } from "../lib/timing.ts";
import {
  accountBreakerOf,
  type BreakerDocument,
  listNotClosedBreakers,
  listOpenBreakers,
  mayProbe,
} from "../policy/breakers.ts";
import type {
  BacklogNow,
  Facts,
  ReadFacts,
  Holder,
  KeyedBacklog,
  Passage,
  Room,
  RoomFacts,
  Verdict,
  Texts,
} from "./rule.ts";
import type { ResolvedCall, ResolvedRoute } from "./resolved-call.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";
import { unreadable } from "../ports/unreadable.ts";

type Asked = Pick<ReadFacts, "documents">;

export function keys({ target }: KeyedBacklog): DocumentKey[] {
  return (target?.breakers ?? []).map((key) => ({ kind: "breaker", key }));
}

export const held = { kind: "hold", reason: "breaker_open" } as const;

/** A breaker is open, and the call may not probe it soon. A fresh call probes none: all of them must be closed. */
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

/** Returns the open breakers that a call's request probes. */
export function probedBy(
  { probed }: Pick<ResolvedRoute, "probed">,
  documents: DocumentsRead,
): BreakerDocument[] {
  return listOpenBreakers(probed, documents);
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
  { name }: Pick<ResolvedRoute["account"], "name">,
  { documents, inFlight }: Pick<RoomFacts, "documents" | "inFlight">,
): Room | undefined {
  const breaker = documents.get("breaker", accountBreakerOf(name));
  const { state, room: opened = 0 } = breaker?.value ?? {};
  // The backlog's own allowance decides which backlog may probe.
  if (state === "open") return { count: inFlight === 0 ? 1 : 0, why: "breaker_open", most: 1 };
  return state === "half_open" ? { count: opened - inFlight } : undefined;
}

type Along = Pick<ResolvedRoute, "services" | "probed">;

/** Names the breakers of an account and of a backlog. A failing check is as a breaker of the backlog's own. */
function namesAlong({ services, probed }: Along, { documents }: Asked) {
  const [ofAccount = "", own = ""] = probed;
  const mayBeOpen = (name: string) => {
    const value = documents.find("breaker", name)?.value;
    return value === unreadable || value?.state === "open";
  };
  return { ofAccount, own: services.find(({ name }) => mayBeOpen(name))?.name ?? own };
}

/** Returns whose calls cannot be judged, as only a later version can read a breaker: all of the account, or the backlog's. */
export function unreadAlong(target: Along, asked: Asked): "account" | "backlog" | undefined {
  const { ofAccount, own } = namesAlong(target, asked);
  const isUnread = (name: string) => asked.documents.find("breaker", name)?.value === unreadable;
  if (isUnread(ofAccount)) return "account";
  return isUnread(own) ? "backlog" : undefined;
}

/** Returns the breakers along a route of which none is unread. */
function readAlong(target: Along, asked: Asked) {
  const { ofAccount, own } = namesAlong(target, asked);
  const read = (name: string) => asked.documents.get("breaker", name);
  return { ofAccount: read(ofAccount), own: read(own) };
}

function openOf({ own, ofAccount }: ReturnType<typeof readAlong>): BreakerDocument[] {
  return [ofAccount, own].flatMap((one) => (one?.value.state === "open" ? [one] : []));
}

/** Open breakers of a backlog and its account leave the one call that probes them. */
export function backlogRoom(
  { of, target, inFlight }: Omit<BacklogNow, "answers">,
  { documents, now }: ReadFacts,
): number | undefined {
  const seen = readAlong(target, { documents });
  const open = openOf(seen);
  if (open.length > 0) {
    return inFlight === 0 && open.every((one) => mayProbe(one, of, now)) ? 1 : 0;
  }
  const { own } = seen;
  return own?.value.state === "half_open" ? own.value.room - inFlight : undefined;
}

/** True if requests along a route stay unanswered, which occupies a delivery for long. */
export function isHanging(target: Along, asked: Asked): boolean {
  const { state, cause } = readAlong(target, asked).own?.value ?? {};
  return state === "open" && (cause === "unreachable" || cause === "check");
}

/** True if a breaker of a backlog, or of its account, is open or half-open. */
export function isTroubled(target: Along, asked: Asked): boolean {
  const { own, ofAccount } = readAlong(target, asked);
  return [own, ofAccount].some((one) => one !== undefined && one.value.state !== "closed");
}

/** True if requests of the account failed lately: its breaker lists failing backlogs even while it is closed. */
export function isAccountTroubled(target: Along, asked: Asked): boolean {
  return readAlong(target, asked).ofAccount !== undefined;
}

/** Open breakers refuse calls until their next probe. */
export function restsUntil(target: Along, asked: Asked): number {
  return Math.max(0, ...openOf(readAlong(target, asked)).map(({ value }) => value.probeAt));
}

/** A half-open account that answers quickly is soon as fast as before. */
export function holders(
  { account, breakers }: ResolvedRoute,
  { documents }: Pick<ReadFacts, "documents">,
): Holder[] {
  const isQuick = documents.get("account", account.name)?.value.quick === true;
  return listNotClosedBreakers(breakers, documents).flatMap(({ key, value }) =>
    value.state === "half_open" && isQuick
      ? []
      : { reason: "breaker_open", name: key, until: null },
  );
}

export const texts: Texts = {
  breaker_open: {
    means: "The circuit breaker of the account, or of the client and agent, is open.",
    holds: (name) => `The circuit breaker ${breakerName(name)} is open.`,
    endedBy: "provider",
    stops: true,
  },
};

/** Names what a breaker stands for by its key: `account:vapi`, or `backlog:` with a client and an agent. */
export function breakerName(key: string): string {
  const [kind = "", name = ""] = key.split(/:(.*)/s, 2);
  if (kind !== "backlog") return `of ${kind} ${name}`.trimEnd();
  const parts: unknown = JSON.parse(name);
  const [client, agent] = Array.isArray(parts) ? parts.map(String) : [];
  return `of ${client}'s calls to ${agent}`;
}
