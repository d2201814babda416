import type { Call } from "../../shared/call.ts";
import {
  accountOf,
  type DialPlan,
  expiryOf,
  mayBeCalled,
  routeOf,
} from "../../shared/dial-plan.ts";
import type { CallRow, Hold, Order } from "../../shared/ledger/call-ledger.ts";
import { isIdempotent } from "../../shared/ledger/state-machine.ts";
import {
  accountNameOf,
  contextProblem,
  resendSecondsMax,
  type Route,
} from "../../shared/providers/index.ts";
import type { Opening } from "../../shared/schedule/calling-hours.ts";
import type { Schedule } from "../../shared/schedule/schedule.ts";
import { byOrder } from "./operator-orders.ts";
import { heldBy, heldUntil, holdReason, isOfAccount } from "./holds.ts";

/** A row due so soon counts as due, and is waited for. */
export const waitMsMax = 5_000;
/** A claim older than this is not dialed: whoever reads the row may count on it. */
export const claimAgeMsMax = 10_000;
/** The reason of a row that has been given a slot of its account's pace: its `dueAt` is the slot. */
export const slotReason = "slot";

/** A decision that is written without a claim. */
export type Written =
  | {
      kind: "write";
      state: "DEFERRED";
      reason: string;
      dueAt: number;
      /** The line in which it waits, at its place `dueAt`. */
      line?: string;
    }
  | { kind: "write"; state: "EXPIRED" | "REJECTED" | "PARKED" | "CANCELLED"; reason: string };

export interface Dial {
  kind: "dial";
  call: Call;
  route: Route;
  timeoutSeconds: number;
  /** Not before then, in milliseconds since the epoch. */
  dialAt: number;
  /** It has stood in its account's line, and been given its slot. */
  hasSlot: boolean;
  /** Of this claim, counted from 1. */
  attempt: number;
  /** Its row as it was read, if it has one. */
  row: CallRow | undefined;
  /** The row's token, where an idempotent provider is sent to again. */
  resendOf?: string;
  /** No later than then, where the provider forgets what it has seen. */
  resendUntil?: number;
  unknownSince?: number;
}

/** A call of unknown outcome that its provider is asked for. */
export interface LookUp extends Pick<CallRow, "attempt" | "numberHash" | "history"> {
  kind: "look_up";
  call: Call;
  token: string;
  route: Route;
  claimedAt: number;
  /** Its time is over: not found now, it is parked. */
  orPark: boolean;
}

/** What to do about a call, from what is known before anything is claimed. */
export type Decision =
  /** Its row says that nothing is to be done now. */
  | { kind: "acknowledge" }
  | Written
  /** An unknown outcome that stayed unknown: a person decides. */
  | { kind: "park"; token: string }
  | LookUp
  | Dial;

interface Known {
  plan: DialPlan;
  schedule: Schedule;
  holds: readonly Hold[];
  orders: readonly Order[];
  now: number;
  /** Random, 0 ≤ fraction < 1. */
  fraction: () => number;
}

/** Decides from the row's own call where there is one: a message is only a hint. */
export function decide(
  delivered: Call | undefined,
  row: CallRow | undefined,
  known: Known & { canLookUp: (route: Route) => boolean },
): Decision {
  const call = row?.call ?? delivered;
  if (call === undefined || (row !== undefined && !isDue(row, known.now))) {
    return { kind: "acknowledge" };
  }
  if (row?.state === "UNKNOWN") return decideUnknown(row, call, known);
  return decideWaiting(call, row, known);
}

/** Decides about a call that nobody has dialed, as if its time had come. */
export function decideWaiting(
  call: Call,
  row: CallRow | undefined,
  { plan, schedule, holds, orders, now, fraction }: Known,
): Written | Dial {
  const expiresAt = expiryOf(call, plan);
  const dialAt = Math.max(now, row?.dueAt ?? 0);
  const ordered = byOrder(call, routeOf(call.request.agent_id, plan), orders);
  if (ordered?.state === "CANCELLED") return ordered;
  if (dialAt >= expiresAt) return { kind: "write", state: "EXPIRED", reason: "expired" };
  const route = routeOf(call.request.agent_id, plan);
  if (route === undefined) return { kind: "write", state: "PARKED", reason: "no_route" };
  if (!mayBeCalled(call.request, plan)) {
    return { kind: "write", state: "REJECTED", reason: "destination_denied" };
  }
  // Refused at acceptance; the agent may have been given another route since.
  if (contextProblem(call.request, route) !== undefined) {
    return { kind: "write", state: "REJECTED", reason: "context_not_carried" };
  }
  if (ordered !== undefined) return ordered;
  const closed = waitForOpening(schedule.opening(call.request, route, dialAt, expiresAt), dialAt);
  if (closed !== undefined) return closed;
  const held = heldBy(route, holds);
  if (held !== undefined && held.probeAt > dialAt) {
    const reason = holdReason(held);
    if (accountOf(route, plan).pace !== undefined && isOfAccount(held)) {
      // In line, where it costs no message until the hold has ended.
      const line = accountNameOf(route);
      return { kind: "write", state: "DEFERRED", reason, dueAt: call.acceptedAt, line };
    }
    const dueAt = Math.min(heldUntil(held.probeAt, fraction()), expiresAt);
    return { kind: "write", state: "DEFERRED", reason, dueAt };
  }
  return {
    kind: "dial",
    call,
    route,
    timeoutSeconds: accountOf(route, plan).timeoutSeconds,
    dialAt,
    hasSlot: row?.reason === slotReason,
    attempt: (row?.attempt ?? 0) + 1,
    row,
  };
}

/** What closed calling hours mean for a call: it waits for them, or ends where they never open in its time. */
export function waitForOpening(opening: Opening, now: number): Written | undefined {
  if (opening.at === undefined) {
    return { kind: "write", state: "EXPIRED", reason: `hours:${opening.closedBy}` };
  }
  if (opening.at <= now) return undefined;
  const reason = `hours:${opening.closedBy ?? ""}`;
  return { kind: "write", state: "DEFERRED", reason, dueAt: Math.ceil(opening.at) };
}

function decideUnknown(
  row: CallRow,
  call: Call,
  { plan, now, canLookUp }: Parameters<typeof decide>[2],
): Decision {
  const { token, route, unknownSince, claimedAt, attempt, numberHash, history } = row;
  if (token === null || route === null || unknownSince === null) return { kind: "acknowledge" };
  const orPark = now >= unknownSince + plan.parkAfterSeconds * 1000;
  if (canLookUp(route) && claimedAt !== null) {
    const asked = { call, token, route, attempt, numberHash, history, claimedAt };
    return { kind: "look_up", ...asked, orPark };
  }
  if (orPark) return { kind: "park", token };
  const secondsMax = resendSecondsMax(route);
  const resendUntil = secondsMax === undefined ? undefined : (claimedAt ?? 0) + secondsMax * 1000;
  const isOver = resendUntil !== undefined && (row.resent || now > resendUntil);
  if (!isIdempotent(route) || isOver) return { kind: "acknowledge" };
  return {
    kind: "dial",
    call,
    route,
    timeoutSeconds: accountOf(route, plan).timeoutSeconds,
    dialAt: now,
    hasSlot: false,
    attempt: attempt + 1,
    row,
    resendOf: token,
    ...(resendUntil === undefined ? {} : { resendUntil }),
    unknownSince,
  };
}

function isDue({ state, dueAt, line }: CallRow, now: number): boolean {
  if (dueAt === null || line !== null) return false; // who stands in line waits for a slot
  if (state === "DEFERRED") return dueAt <= now + waitMsMax;
  return state === "UNKNOWN" && dueAt <= now;
}
