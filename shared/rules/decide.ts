import type { Route } from "../calls/call-request.ts";
import type { Decided } from "../calls/transitions.ts";
import { mayBeDialed } from "../dial-plan/dial-plan.ts";
import { mayProbe, listOpenBreakers, listNotClosedBreakers } from "../policy/breakers.ts";
import type { DocumentsRead } from "../ports/document-kinds.ts";
import { findCancellation, findErasure, isPaused, isOnDoNotCallList } from "../policy/controls.ts";
import { contextProblem } from "../providers/routes.ts";
import { withCallerId } from "../policy/caller-ids.ts";
import { countedIn } from "../policy/day-counts.ts";
import { claimAheadMsMax, findNextPermitAt } from "../policy/account-pace.ts";
import type { Opening } from "../telephony/calling-hours.ts";
import type { HashKeys } from "../telephony/phone-number.ts";
import type { Schedule } from "../dial-plan/schedule.ts";
import type { RouteTable } from "../dial-plan/route-table.ts";
import type { ResolvedCall, ResolvedRoute, Resolver } from "./resolved-call.ts";

/**
 * Wait for a full cap that is not free before the call expires: longer than any dialing that may still be removed
 * from the cap.
 */
const overCapMs = 180_000;
/** Everything that decides about a call that nobody has dialed, as dialers read it or forecasts assume it. */
export interface DecisionInputs {
  table: RouteTable;
  resolver: Resolver;
  schedule: Schedule;
  hashKeys: HashKeys;
  /** Breakers, pauses, cancellations, do-not-call entries and paces that bear on the call. */
  documents: DocumentsRead;
  now: number;
  /** Number of calls that go before this one, by account. */
  ahead: ReadonlyMap<string, number>;
  /** Maximum fresh calls of an account that one delivery dials. The account's `concurrency` may be smaller. */
  requestsAtOnce: number;
}

/** Maximum age of a message whose calls may go before waiting ones. */
const freshMsMax = 5_000;
/** Maximum time from the delivery of a fresh call to its permit. */
const freshPermitMsMax = 2_000;

/** The action for a call that nobody has dialed. */
export type WaitingDecision =
  /** No action now: the row waits for its turn, for the end of a pause, for a breaker, or for a route. */
  | { kind: "leave"; because: string }
  /** The state to write into the row or a new row. */
  | { kind: "write"; decided: Decided }
  /** The call is to be claimed and dialed, at this time at the earliest, in milliseconds since the epoch. */
  | { kind: "dial"; target: ResolvedRoute; dialAt: number };

/**
 * Decides about a call that nobody has dialed. Dialers carry the decision out; forecasts call this function for
 * future times.
 */
export function decideWaiting(resolved: ResolvedCall, known: DecisionInputs): WaitingDecision {
  const { now } = known;
  const { call, row, of, target } = resolved;
  const dialAt = Math.max(now, row?.dueAt ?? 0);
  const end = decideEnd(resolved, dialAt, known);
  if (end?.state === "EXPIRED") {
    return { kind: "write", decided: { ...end, reason: findExpiryReason(row) } };
  }
  if (end !== undefined) return { kind: "write", decided: end };
  if (target === undefined) return wait(row, "route_gone", now);
  const { route } = target;
  const closed = decideByClock(resolved, { route, at: dialAt }, known);
  if (closed !== undefined) return { kind: "write", decided: closed };
  const because = findWaitReason(resolved, target, known);
  if (because !== undefined) return wait(row, because, now);
  // Under an open breaker a call waits for the time of the next probe, as it waits for its due time.
  const probeAt = listOpenBreakers(target.breakers, known.documents).map((breaker) =>
    mayProbe(breaker, of, now) ? 0 : breaker.value.probeAt,
  );
  const chosen =
    route.callerIds === undefined ? route : withCallerId(route, call.request.phone_number, known);
  if (chosen === undefined) return wait(row, "caller_ids", now);
  const at = Math.max(dialAt, ...probeAt);
  return { kind: "dial", target: { ...target, route: chosen }, dialAt: at };
}

/**
 * Returns the decision that time alone demands at `at`: the end of the call's lifetime, or a wait for the client's
 * `Call-Not-Before` or for calling hours.
 */
export function decideByClock(
  { call, expiresAt }: Pick<ResolvedCall, "call" | "expiresAt">,
  { route, at }: { route: Route; at: number },
  { schedule }: Pick<DecisionInputs, "schedule">,
): ReturnType<typeof decideByHours> {
  if (at >= expiresAt) return { state: "EXPIRED", reason: "expired" };
  const { notBefore } = call;
  if (notBefore !== undefined && notBefore > at) {
    return { state: "WAITING", reason: "not_before", dueAt: notBefore };
  }
  return decideByHours(schedule.opening(call.request, route, { from: at, until: expiresAt }), at);
}

/** Returns the final state of a call that must end now, regardless of pauses, breakers and paces. */
export function decideEnd(
  { call, hashes, target, expiresAt }: ResolvedCall,
  at: number,
  { table, documents, hashKeys }: DecisionInputs,
): Decided | undefined {
  const erasedAt = hashes && findErasure(call, hashes.own, documents);
  if (erasedAt !== undefined) return { state: "CANCELLED", reason: "erased", erasedAt };
  const cancelled = findCancellation(call, documents);
  if (cancelled !== undefined) return { state: "CANCELLED", reason: cancelled };
  if (at >= expiresAt) return { state: "EXPIRED", reason: "expired" };
  if (!mayBeDialed(call, table.plan)) {
    return { state: "REJECTED", reason: "destination_denied" };
  }
  if (
    hashes !== undefined &&
    isOnDoNotCallList({ hashes: hashes.asked, client: call.client }, documents, hashKeys)
  ) {
    return { state: "REJECTED", reason: "do_not_call" };
  }
  // The context was checked at acceptance, but the agent's route may have changed since.
  if (target !== undefined && contextProblem(call.request, target.route) !== undefined) {
    return { state: "REJECTED", reason: "context_not_carried" };
  }
  return undefined;
}

/** Returns why a call that is due must wait, or undefined. */
export function findWaitReason(
  { call, row, of }: ResolvedCall,
  target: ResolvedRoute,
  known: DecisionInputs,
): string | undefined {
  const { documents, now, ahead } = known;
  const { account, breakers, pauses } = target;
  if (isPaused(pauses, documents)) return "paused";
  const { name, pace, callsPerDay = Infinity } = account;
  if (callsPerDay < Infinity && countedIn(documents, { account: name }, now) >= callsPerDay) {
    return "calls_per_day";
  }
  const permitAt =
    pace && findNextPermitAt(name, { pace, others: ahead.get(name) }, { documents, now });
  if (row === undefined) return findFreshWaitReason(call, { target, permitAt }, known);
  const soon = now + claimAheadMsMax;
  if (listOpenBreakers(breakers, documents).some((breaker) => !mayProbe(breaker, of, soon))) {
    return "breaker_open";
  }
  return permitAt !== undefined && permitAt > soon ? "pace" : undefined;
}

/**
 * Returns why a fresh call must wait for its turn. It may go at once if its account answers quickly and has room, so
 * that it overtakes no other call.
 */
function findFreshWaitReason(
  { acceptedAt }: ResolvedCall["call"],
  { target, permitAt }: { target: ResolvedRoute; permitAt: number | undefined },
  { documents, now, ahead, requestsAtOnce }: DecisionInputs,
): string | undefined {
  const { route, account, breakers } = target;
  if (route.checks !== undefined) return "turn"; // the dispatcher bounds how many wait for a check's answer
  if (listNotClosedBreakers(breakers, documents).length > 0) return "breaker_open";
  const { quick = false, busy = false } = documents.get("account", account.name)?.value ?? {};
  if (!quick || busy || now - acceptedAt > freshMsMax) return "turn";
  if (permitAt !== undefined && permitAt > now + freshPermitMsMax) return "pace";
  const { concurrency = requestsAtOnce } = account;
  const most = Math.min(concurrency, requestsAtOnce);
  return (ahead.get(account.name) ?? 0) >= most ? "turn" : undefined;
}

/** Leaves a row unchanged, so that it keeps its position. A fresh call is written WAITING, due now. */
function wait(row: ResolvedCall["row"], reason: string, now: number): WaitingDecision {
  if (row !== undefined) return { kind: "leave", because: reason };
  return { kind: "write", decided: { state: "WAITING", reason, dueAt: now } };
}

/** Decides a call outside its calling hours: it waits until they open, or ends if they never open in its lifetime. */
export function decideByHours(
  opening: Opening,
  now: number,
): Extract<Decided, { state: "WAITING" }> | { state: "EXPIRED"; reason: string } | undefined {
  if (opening.at === undefined) return { state: "EXPIRED", reason: `hours:${opening.closedBy}` };
  if (opening.at <= now) return undefined;
  const reason = `hours:${opening.closedBy ?? ""}`;
  return { state: "WAITING", reason, dueAt: Math.ceil(opening.at) };
}

/**
 * Returns why a call expires: `max_calls` if it last waited for the caps of its number.
 *
 * @param row as read; undefined: the call has none
 */
export function findExpiryReason(row: { reason: string } | undefined): "max_calls" | "expired" {
  return row?.reason === "max_calls" ? "max_calls" : "expired";
}

/**
 * Decides a call whose number has been called as often as its caps allow: it waits until the number is free. If that
 * is after its lifetime, the call waits once, for a call under way that may still be removed from the cap, and then
 * expires.
 *
 * @param free time at which the number is free, in milliseconds since the epoch
 * @param reason the row's reason, as read
 */
export function decideOverCap(
  free: number,
  { now, expiresAt, reason }: { now: number; expiresAt: number; reason: string | undefined },
): Extract<Decided, { state: "WAITING" }> | { state: "EXPIRED"; reason: string } {
  if (free < expiresAt) return { state: "WAITING", reason: "max_calls", dueAt: free };
  if (reason === "max_calls") return { state: "EXPIRED", reason: "max_calls" };
  return { state: "WAITING", reason: "max_calls", dueAt: Math.min(now + overCapMs, expiresAt) };
}
