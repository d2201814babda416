import { hashedNumberOf } from "../calls/ids.ts";
import { type Call, accountNameOf, type Route } from "../calls/call-request.ts";
import type { Decided } from "../calls/transitions.ts";
import { mayBeDialed, expiryOf } from "../dial-plan/dial-plan.ts";
import type { RouteTable } from "../dial-plan/route-table.ts";
import type { DialPlan } from "../dial-plan/plan-schema.ts";
import { mayProbe, listOpenBreakers, listNotClosedBreakers } from "./breakers.ts";
import type { DocumentsRead } from "../ports/document-kinds.ts";
import { findCancellation, findErasure, isPaused, isOnDoNotCallList } from "./controls.ts";
import { contextProblem } from "../providers/routes.ts";
import { withCallerId } from "./caller-ids.ts";
import { countedIn } from "./day-counts.ts";
import { claimAheadMsMax, findNextPermitAt } from "./account-pace.ts";
import type { Opening } from "../telephony/calling-hours.ts";
import type { HashKeys, NumberHashes } from "../telephony/phone-number.ts";
import type { Schedule } from "../dial-plan/schedule.ts";

/**
 * Wait for a full cap that is not free before the call expires: longer than any dialing that may still be removed
 * from the cap.
 */
const overCapMs = 180_000;
/** Everything that decides about a call that nobody has dialed, as dialers read it or forecasts assume it. */
export interface DecisionInputs {
  plan: DialPlan;
  table: RouteTable;
  schedule: Schedule;
  hashKeys: HashKeys;
  /** Breakers, pauses, cancellations, do-not-call entries and paces that bear on the call. */
  documents: DocumentsRead;
  now: number;
  /** Number of calls that go before this one, by account. */
  ahead: ReadonlyMap<string, number>;
  /** Maximum fresh calls of an account that one delivery dials. The account's `concurrency` may be smaller. */
  requestsAtOnce: number;
  /** Returns the hashes of a number (`hashedNumberOf`); undefined where its do-not-call entry was not read, and counts as absent. */
  hashesOf(number: string): NumberHashes | undefined;
}

/** The fields of a waiting row on which its decision depends. */
interface Waiting {
  dueAt: number | null;
  reason: string;
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
  | { kind: "dial"; route: Route; dialAt: number };

/**
 * Decides about a call that nobody has dialed. Dialers carry the decision out; forecasts call this function for
 * future times.
 */
export function decideWaiting(
  call: Call,
  row: Waiting | undefined,
  known: DecisionInputs,
): WaitingDecision {
  const { table, now } = known;
  const dialAt = Math.max(now, row?.dueAt ?? 0);
  const end = decideEnd(call, dialAt, known);
  if (end?.state === "EXPIRED") {
    return { kind: "write", decided: { ...end, reason: findExpiryReason(row) } };
  }
  if (end !== undefined) return { kind: "write", decided: end };
  const of = { client: call.client, agentId: call.request.agent_id };
  const route = table.find(of);
  if (route === undefined) return wait(row, "route_gone", now);
  const closed = decideByClock(call, { route, at: dialAt }, known);
  if (closed !== undefined) return { kind: "write", decided: closed };
  const because = findWaitReason(call, { row, route }, known);
  if (because !== undefined) return wait(row, because, now);
  // Under an open breaker a call waits for the time of the next probe, as it waits for its due time.
  const probeAt = listOpenBreakers(of, route, known.documents).map((breaker) =>
    mayProbe(breaker, of, now) ? 0 : breaker.value.probeAt,
  );
  const chosen =
    route.callerIds === undefined ? route : withCallerId(route, call.request.phone_number, known);
  if (chosen === undefined) return wait(row, "caller_ids", now);
  return { kind: "dial", route: chosen, dialAt: Math.max(dialAt, ...probeAt) };
}

/**
 * Returns the decision that time alone demands at `at`: the end of the call's lifetime, or a wait for the client's
 * `Call-Not-Before` or for calling hours.
 */
export function decideByClock(
  call: Call,
  { route, at }: { route: Route; at: number },
  { plan, schedule }: Pick<DecisionInputs, "plan" | "schedule">,
): ReturnType<typeof decideByHours> {
  const expiresAt = expiryOf(call, plan);
  if (at >= expiresAt) return { state: "EXPIRED", reason: "expired" };
  const { notBefore } = call;
  if (notBefore !== undefined && notBefore > at) {
    return { state: "WAITING", reason: "not_before", dueAt: notBefore };
  }
  return decideByHours(schedule.opening(call.request, route, { from: at, until: expiresAt }), at);
}

/** Returns the final state of a call that must end now, regardless of pauses, breakers and paces. */
export function decideEnd(call: Call, at: number, known: DecisionInputs): Decided | undefined {
  const { plan, table, documents, hashKeys } = known;
  const hashes = known.hashesOf(hashedNumberOf(call));
  const erasedAt = hashes && findErasure(call, hashes.own, documents);
  if (erasedAt !== undefined) return { state: "CANCELLED", reason: "erased", erasedAt };
  const cancelled = findCancellation(call, documents);
  if (cancelled !== undefined) return { state: "CANCELLED", reason: cancelled };
  if (at >= expiryOf(call, plan)) return { state: "EXPIRED", reason: "expired" };
  if (!mayBeDialed(call, plan)) {
    return { state: "REJECTED", reason: "destination_denied" };
  }
  if (
    hashes !== undefined &&
    isOnDoNotCallList({ hashes: hashes.asked, client: call.client }, documents, hashKeys)
  ) {
    return { state: "REJECTED", reason: "do_not_call" };
  }
  const route = table.find({ client: call.client, agentId: call.request.agent_id });
  // The context was checked at acceptance, but the agent's route may have changed since.
  if (route !== undefined && contextProblem(call.request, route) !== undefined) {
    return { state: "REJECTED", reason: "context_not_carried" };
  }
  return undefined;
}

/** Returns why a call that is due must wait, or undefined. */
export function findWaitReason(
  call: Call,
  { row, route }: { row: Waiting | undefined; route: Route },
  known: DecisionInputs,
): string | undefined {
  const { table, documents, now, ahead } = known;
  const of = { client: call.client, agentId: call.request.agent_id };
  if (isPaused(of, route, documents)) return "paused";
  const account = accountNameOf(route);
  const { pace, callsPerDay = Infinity } = table.account(route);
  if (callsPerDay < Infinity && countedIn(documents, { account }, now) >= callsPerDay) {
    return "calls_per_day";
  }
  const permitAt =
    pace && findNextPermitAt(account, { pace, others: ahead.get(account) }, { documents, now });
  if (row === undefined) return findFreshWaitReason(call, { account, route, permitAt }, known);
  const soon = now + claimAheadMsMax;
  if (listOpenBreakers(of, route, documents).some((breaker) => !mayProbe(breaker, of, soon))) {
    return "breaker_open";
  }
  return permitAt !== undefined && permitAt > soon ? "pace" : undefined;
}

/**
 * Returns why a fresh call must wait for its turn. It may go at once if its account answers quickly and has room, so
 * that it overtakes no other call.
 */
function findFreshWaitReason(
  { client, request, acceptedAt }: Call,
  { account, route, permitAt }: { account: string; route: Route; permitAt: number | undefined },
  { table, documents, now, ahead, requestsAtOnce }: DecisionInputs,
): string | undefined {
  const of = { client, agentId: request.agent_id };
  if (route.checks !== undefined) return "turn"; // the dispatcher bounds how many wait for a check's answer
  if (listNotClosedBreakers(of, route, documents).length > 0) return "breaker_open";
  const { quick = false, busy = false } = documents.get("account", account)?.value ?? {};
  if (!quick || busy || now - acceptedAt > freshMsMax) return "turn";
  if (permitAt !== undefined && permitAt > now + freshPermitMsMax) return "pace";
  const { concurrency = requestsAtOnce } = table.account(route);
  const most = Math.min(concurrency, requestsAtOnce);
  return (ahead.get(account) ?? 0) >= most ? "turn" : undefined;
}

/** Leaves a row unchanged, so that it keeps its position. A fresh call is written WAITING, due now. */
function wait(row: Waiting | undefined, reason: string, now: number): WaitingDecision {
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
