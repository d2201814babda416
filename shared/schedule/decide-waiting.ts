import type { Call } from "../calls/call.ts";
import type { Decided } from "../calls/state-machine.ts";
import { mayBeCalled } from "../dial-plan/destinations.ts";
import { expiryOf } from "../dial-plan/dial-plan.ts";
import type { DialPlan } from "../dial-plan/plan-schema.ts";
import { accountOf, routeOf } from "../dial-plan/routes.ts";
import { openBreakers } from "../documents/breakers.ts";
import type { DocumentsRead } from "../documents/documents.ts";
import { cancelledBy, isOnDoNotCallList, isPaused } from "../documents/orders.ts";
import { accountNameOf, contextProblem, type Route } from "../providers/index.ts";
import { calledUpTo, claimAheadMsMax, nextPermitAt } from "./account-pace.ts";
import type { Opening } from "./calling-hours.ts";
import type { Schedule } from "./schedule.ts";

/** Everything that bears on a call that nobody has dialed, as dialers read it or a forecast assumes it. */
export interface Bearing {
  plan: DialPlan;
  schedule: Schedule;
  hashKey: string;
  /** Breakers, pauses, cancellations, do-not-call entries and paces that bear on the call. */
  documents: DocumentsRead;
  now: number;
  /** Number of calls that go before this one, by account. */
  ahead: ReadonlyMap<string, number>;
  /** Returns the hash of a number; undefined where its do-not-call entry was not read, and counts as absent. */
  hashOf(number: string): string | undefined;
}

/** A row that waits, as far as its decision depends on it. */
interface Waiting {
  dueAt: number | null;
}

/** The action for a call that nobody has dialed. */
export type WaitingDecision =
  /** No action now: the row waits for a pause or a breaker to end, or for a route. */
  | { kind: "leave"; because: string }
  /** A row that came before its account's pace has a permit for it, with the time of that permit. */
  | { kind: "early"; route: Route; permitAt: number }
  /** The state to write into the row or a new row. */
  | { kind: "write"; decided: Decided }
  /** The call is to be claimed and dialed, at this time at the earliest, in milliseconds since the epoch. */
  | { kind: "dial"; route: Route; dialAt: number };

/**
 * Decides about a call that nobody has dialed. Dialers do what this function returns; forecasts ask it about times
 * to come.
 */
export function decideWaiting(
  call: Call,
  row: Waiting | undefined,
  known: Bearing,
): WaitingDecision {
  const { plan, now } = known;
  const dialAt = Math.max(now, row?.dueAt ?? 0);
  const end = endOf(call, dialAt, known);
  if (end !== undefined) return { kind: "write", decided: end };
  const route = routeOf(call.request.agent_id, plan);
  if (route === undefined) return wait(row, "route_gone", now);
  const closed = decideByClock(call, route, dialAt, known);
  if (closed !== undefined) return { kind: "write", decided: closed };
  const waits = waitsFor(call, row, route, known);
  if (row !== undefined && waits?.permitAt !== undefined) {
    return { kind: "early", route, permitAt: waits.permitAt };
  }
  if (waits !== undefined) return wait(row, waits.because, now);
  // Behind an open breaker a call waits for the next probe's time, just as for its own due time.
  const open = openBreakers(call.request.agent_id, route, known.documents);
  const probeAt = Math.max(0, ...open.map(({ value }) => value.probeAt));
  return { kind: "dial", route, dialAt: Math.max(dialAt, probeAt) };
}

/** Returns what keeps a call from being dialed at `at` by the clock alone: its lifetime, or its calling hours. */
export function decideByClock(
  call: Call,
  route: Route,
  at: number,
  { plan, schedule }: Pick<Bearing, "plan" | "schedule">,
): ReturnType<typeof closedUntil> {
  const expiresAt = expiryOf(call, plan);
  if (at >= expiresAt) return { state: "EXPIRED", reason: "expired" };
  return closedUntil(schedule.opening(call.request, route, at, expiresAt), at);
}

/** Returns the final state of a call that must end now, whatever is paused, open or paced. */
export function endOf(call: Call, at: number, known: Bearing): Decided | undefined {
  const { plan, documents, hashKey, hashOf } = known;
  const cancelled = cancelledBy(call, documents);
  if (cancelled !== undefined) return { state: "CANCELLED", reason: cancelled };
  if (at >= expiryOf(call, plan)) return { state: "EXPIRED", reason: "expired" };
  if (!mayBeCalled(call.request, plan)) {
    return { state: "REJECTED", reason: "destination_denied" };
  }
  const numberHash = hashOf(call.request.phone_number);
  if (numberHash !== undefined && isOnDoNotCallList(numberHash, documents, hashKey)) {
    return { state: "REJECTED", reason: "do_not_call" };
  }
  const route = routeOf(call.request.agent_id, plan);
  // The context was checked when the call was accepted, but the agent may have another route since.
  if (route !== undefined && contextProblem(call.request, route) !== undefined) {
    return { state: "REJECTED", reason: "context_not_carried" };
  }
  return undefined;
}

/** Returns why a call that is due must wait, or undefined. */
export function waitsFor(
  call: Call,
  row: Waiting | undefined,
  route: Route,
  { plan, documents, now, ahead }: Bearing,
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
function wait(row: Waiting | undefined, reason: string, now: number): WaitingDecision {
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
