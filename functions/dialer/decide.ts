import type { Call } from "../../shared/calls/call.ts";
import { callOf, type CallRow } from "../../shared/calls/call-row.ts";
import { mayHaveBeenDialed } from "../../shared/calls/restored.ts";
import { type Decided, isIdempotent } from "../../shared/calls/state-machine.ts";
import { mayBeCalled } from "../../shared/dial-plan/destinations.ts";
import { expiryOf } from "../../shared/dial-plan/dial-plan.ts";
import type { DialPlan } from "../../shared/dial-plan/plan-schema.ts";
import { accountOf, routeOf } from "../../shared/dial-plan/routes.ts";
import type { DocumentsRead } from "../../shared/documents/documents.ts";
import { type BearingDocuments, restoreKey } from "../../shared/documents/restore.ts";
import { cancelledBy, isOnDoNotCallList, isPaused } from "../../shared/documents/orders.ts";
import { traceOfNumber } from "../../shared/numbering/phone-number.ts";
import { accountNameOf, contextProblem, type Route } from "../../shared/providers/index.ts";
import type { Opening } from "../../shared/schedule/calling-hours.ts";
import type { Schedule } from "../../shared/schedule/schedule.ts";
import { openBreakers } from "../../shared/documents/breakers.ts";
import { calledUpTo, nextPermitAt, claimAheadMsMax } from "./delivery/permits.ts";

/** A call that is to be claimed and dialed. */
export interface Dial {
  kind: "dial";
  call: Call;
  /** The row, as read. Undefined: no row. UNKNOWN: a resend. */
  row: CallRow | undefined;
  route: Route;
  /** Earliest time of the request, in milliseconds since the epoch. */
  dialAt: number;
}

/** A call of unknown outcome that is to be looked up at its provider. */
export interface LookUp {
  kind: "look_up";
  call: Call;
  row: CallRow & { route: Route; claimedAt: number };
  /** True if the review time has passed: a call that is not found goes to NEEDS_REVIEW. */
  orReview: boolean;
}

/** The action for a call, decided before anything is claimed. */
export type Decision =
  /** No action now: the row is final or not due, or the call waits for a pause, breaker or claim to end. */
  | { kind: "leave"; because: string }
  /** A row that came before its account's pace has a permit for it, with the time of that permit. */
  | { kind: "early"; route: Route; permitAt: number }
  /** The state to write into the row or a new row. */
  | { kind: "write"; decided: Decided }
  /** An unknown outcome that stayed unknown until its review time. */
  | { kind: "review"; row: CallRow }
  | LookUp
  | Dial;

export interface Known {
  plan: DialPlan;
  schedule: Schedule;
  hashKey: string;
  /** Breakers, pauses, cancellations, do-not-call entries and paces that bear on the call. */
  documents: BearingDocuments;
  now: number;
  /** Number of calls that go before this one, by account. */
  ahead: ReadonlyMap<string, number>;
  canLookUp(route: Route): boolean;
}

/** Decides by the row's own call where a row exists: a message is only a hint. */
export function decide(
  delivered: Call | undefined,
  row: CallRow | undefined,
  known: Known,
): Decision {
  const call = row === undefined ? delivered : callOf(row);
  if (call === undefined || (row !== undefined && !isDue(row, known.now))) {
    return { kind: "leave", because: "not_due" };
  }
  if (known.documents.isOnHold) return holdBack(call, row);
  if (mayHaveBeenLost(call, row, known.documents)) {
    return { kind: "write", decided: { state: "NEEDS_REVIEW", reason: "restored" } };
  }
  if (row?.state === "UNKNOWN") return decideUnknown(row, call, known);
  return decideWaiting(call, row, known);
}

/**
 * True if a call may have been dialed in a time that was lost when the ledger was restored. Its row may be lost, or a
 * function that stood still has written it after the sweeps went through the rows.
 */
function mayHaveBeenLost(call: Call, row: CallRow | undefined, documents: DocumentsRead): boolean {
  const restore = documents.get("restore", restoreKey.key)?.value;
  if (restore === undefined) return false;
  if (row === undefined) return call.acceptedAt <= restore.since;
  const { at, since } = restore;
  return row.state === "WAITING" && mayHaveBeenDialed(row, { at: at ?? since, since });
}

/** Keeps a call until the restore of the ledger is over. It may have been dialed, so not even its end is decided. */
function holdBack(call: Call, row: CallRow | undefined): Decision {
  if (row !== undefined) return { kind: "leave", because: "restored" };
  // Due since its acceptance, so that the restore's time says whether it may have been dialed before.
  const waits = { state: "WAITING", reason: "restored", dueAt: call.acceptedAt } as const;
  return { kind: "write", decided: waits };
}

function isDue({ state, dueAt }: CallRow, now: number): boolean {
  const isOpen = state === "WAITING" || state === "UNKNOWN";
  return isOpen && dueAt !== null && dueAt <= now + claimAheadMsMax;
}

/** Returns the final state of a call that must end now, whatever is paused, open or paced. */
function endOf(call: Call, at: number, known: Known): Decided | undefined {
  const { plan, documents, hashKey } = known;
  const cancelled = cancelledBy(call, documents);
  if (cancelled !== undefined) return { state: "CANCELLED", reason: cancelled };
  if (at >= expiryOf(call, plan)) return { state: "EXPIRED", reason: "expired" };
  if (!mayBeCalled(call.request, plan)) {
    return { state: "REJECTED", reason: "destination_denied" };
  }
  const { numberHash } = traceOfNumber(call.request.phone_number, hashKey);
  if (isOnDoNotCallList(numberHash, documents, hashKey)) {
    return { state: "REJECTED", reason: "do_not_call" };
  }
  const route = routeOf(call.request.agent_id, plan);
  // The context was checked when the call was accepted, but the agent may have another route since.
  if (route !== undefined && contextProblem(call.request, route) !== undefined) {
    return { state: "REJECTED", reason: "context_not_carried" };
  }
  return undefined;
}

/** Decides about a call that nobody has dialed. */
function decideWaiting(call: Call, row: CallRow | undefined, known: Known): Decision {
  const { plan, schedule, now } = known;
  const dialAt = Math.max(now, row?.dueAt ?? 0);
  const end = endOf(call, dialAt, known);
  if (end !== undefined) return { kind: "write", decided: end };
  const route = routeOf(call.request.agent_id, plan);
  if (route === undefined) return wait(row, "route_gone", now);
  const closed = closedUntil(
    schedule.opening(call.request, route, dialAt, expiryOf(call, plan)),
    dialAt,
  );
  if (closed !== undefined) return { kind: "write", decided: closed };
  const waits = waitsFor(call, row, route, known);
  if (row !== undefined && waits?.permitAt !== undefined) {
    return { kind: "early", route, permitAt: waits.permitAt };
  }
  if (waits !== undefined) return wait(row, waits.because, now);
  // Behind an open breaker a call waits for the next probe's time, just as for its own due time.
  const open = openBreakers(call.request.agent_id, route, known.documents);
  const probeAt = Math.max(0, ...open.map(({ value }) => value.probeAt));
  return { kind: "dial", call, row, route, dialAt: Math.max(dialAt, probeAt) };
}

/** Returns why a call that is due must wait, or undefined. */
function waitsFor(
  call: Call,
  row: CallRow | undefined,
  route: Route,
  { plan, documents, now, ahead }: Known,
): { because: string; permitAt?: number } | undefined {
  const agent = call.request.agent_id;
  if (isPaused(agent, route, documents)) return { because: "paused" };
  const soon = now + claimAheadMsMax;
  if (openBreakers(agent, route, documents).some(({ value }) => value.probeAt > soon)) {
    return { because: "breaker_open" };
  }
  const { pace } = accountOf(route, plan);
  if (pace === undefined) return undefined;
  const account = accountNameOf(route);
  const permitAt = nextPermitAt(account, pace, documents, now, ahead.get(account));
  if (permitAt > soon) return { because: "pace", permitAt };
  if (row !== undefined) return undefined;
  // A fresh call must not overtake waiting calls: their places are taken ahead.
  const rowsRemain = documents.get("account", account)?.value.rowsRemain === true;
  return rowsRemain || calledUpTo(account, documents) > soon ? { because: "pace" } : undefined;
}

/** Leaves a row unchanged, so that it keeps its place. A fresh call is written WAITING, due now. */
function wait(row: CallRow | undefined, reason: string, now: number): Decision {
  if (row !== undefined) return { kind: "leave", because: reason };
  return { kind: "write", decided: { state: "WAITING", reason, dueAt: now } };
}

/**
 * Decides a call outside its calling hours: it waits until they open, or ends where they never open in its
 * lifetime.
 */
export function closedUntil(
  opening: Opening,
  now: number,
): Extract<Decided, { state: "WAITING" }> | { state: "EXPIRED"; reason: string } | undefined {
  if (opening.at === undefined) return { state: "EXPIRED", reason: `hours:${opening.closedBy}` };
  if (opening.at <= now) return undefined;
  const reason = `hours:${opening.closedBy ?? ""}`;
  return { state: "WAITING", reason, dueAt: Math.ceil(opening.at) };
}

function decideUnknown(row: CallRow, call: Call, known: Known): Decision {
  const { plan, schedule, now, canLookUp } = known;
  const { route, unknownSince, claimedAt } = row;
  if (route === null || unknownSince === null || claimedAt === null) {
    return { kind: "leave", because: "not_due" };
  }
  const isOver = now >= unknownSince + plan.reviewAfterSeconds * 1000;
  if (canLookUp(route)) {
    return { kind: "look_up", call, row: { ...row, route, claimedAt }, orReview: isOver };
  }
  if (isOver) return { kind: "review", row };
  // A resend may ring now, so it needs everything that a first request needs.
  const opening = schedule.opening(call.request, route, now, expiryOf(call, plan));
  const mayRing =
    isIdempotent(route) &&
    endOf(call, now, known) === undefined &&
    waitsFor(call, row, route, known) === undefined &&
    opening.at !== undefined &&
    opening.at <= now;
  if (!mayRing) return { kind: "leave", because: "not_now" };
  return { kind: "dial", call, row, route, dialAt: Math.max(now, row.dueAt ?? 0) };
}
