import type { Call } from "../../../shared/calls/call-request.ts";
import { toCall, type CallRow } from "../../../shared/calls/call-row.ts";
import { mayHaveBeenDialed, mayHaveHadRow } from "../../../shared/calls/restore-row.ts";
import { states } from "../../../shared/calls/states.ts";
import { isIdempotent } from "../../../shared/calls/transitions.ts";
import { expiryOf } from "../../../shared/dial-plan/dial-plan.ts";
import type { DocumentsRead } from "../../../shared/ports/documents.ts";
import { type ControlDocuments, restoreKey } from "../../../shared/policy/restore.ts";
import type { Route } from "../../../shared/calls/route.ts";
import { claimAheadMsMax } from "../../../shared/policy/account-pace.ts";
import {
  type DecisionInputs,
  decideWaiting,
  decideEnd,
  findWaitReason,
  type WaitingDecision,
} from "../../../shared/policy/decide.ts";

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

/** The action for a call, decided before anything is claimed. A row that is final or not due is left. */
export type Decision =
  | Exclude<WaitingDecision, { kind: "dial" }>
  /** An unknown outcome that stayed unknown until its review time. */
  | { kind: "review"; row: CallRow }
  | LookUp
  | Dial;

export interface Known extends DecisionInputs {
  documents: ControlDocuments;
  canLookUp(route: Route): boolean;
}

/** Decides by the row's own call where a row exists: a message is only a hint. */
export function decide(
  delivered: Call | undefined,
  row: CallRow | undefined,
  known: Known,
): Decision {
  const call = row === undefined ? delivered : toCall(row);
  if (call === undefined || (row !== undefined && !isDue(row, known.now))) {
    return { kind: "leave", because: "not_due" };
  }
  if (known.documents.isSuspended) return holdBack(call, row);
  if (mayHaveBeenLost(call, row, known.documents)) {
    return { kind: "write", decided: { state: "NEEDS_REVIEW", reason: "restored" } };
  }
  if (row?.state === "UNKNOWN") return decideUnknown(row, call, known);
  const decision = decideWaiting(call, row, known);
  return decision.kind === "dial" ? { ...decision, call, row } : decision;
}

/**
 * True if a call may have been dialed in a time that was lost when the ledger was restored. Its row may be lost, or a
 * function that stood still has written it after the sweeps went through the rows.
 */
function mayHaveBeenLost(call: Call, row: CallRow | undefined, documents: DocumentsRead): boolean {
  const restore = documents.get("restore", restoreKey.key)?.value;
  if (restore === undefined) return false;
  if (row === undefined) return mayHaveHadRow(call, restore.since);
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
  const { index } = states[state];
  return (
    (index === "backlog" || index === "watch") && dueAt !== null && dueAt <= now + claimAheadMsMax
  );
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
  const opening = schedule.opening(call.request, route, { from: now, until: expiryOf(call, plan) });
  const mayRing =
    isIdempotent(route) &&
    decideEnd(call, now, known) === undefined &&
    findWaitReason(call, { row, route }, known) === undefined &&
    opening.at !== undefined &&
    opening.at <= now;
  if (!mayRing) return { kind: "leave", because: "not_now" };
  return { kind: "dial", call, row, route, dialAt: Math.max(now, row.dueAt ?? 0) };
}
