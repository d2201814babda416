import type { Call } from "../../shared/call.ts";
import { accountOf, type DialPlan, mayBeCalled, routeOf } from "../../shared/dial-plan.ts";
import type { CallRow, Hold } from "../../shared/ledger/call-ledger.ts";
import { isIdempotent } from "../../shared/ledger/state-machine.ts";
import type { Route } from "../../shared/providers/index.ts";
import { heldBy, heldUntil, holdReason } from "./holds.ts";

/** A row due so soon counts as due, and is waited for. */
const waitMsMax = 5_000;

/** What to do about a call, from what is known before anything is claimed. */
export type Decision =
  /** Its row says that nothing is to be done now. */
  | { kind: "acknowledge" }
  | { kind: "write"; state: "DEFERRED"; reason: string; dueAt: number }
  | { kind: "write"; state: "EXPIRED" | "REJECTED" | "PARKED"; reason: string }
  /** An unknown outcome that stayed unknown: a person decides. */
  | { kind: "park"; token: string }
  | {
      kind: "dial";
      call: Call;
      route: Route;
      timeoutSeconds: number;
      /** Not before then, in milliseconds since the epoch. */
      dialAt: number;
      /** Of this claim, counted from 1. */
      attempt: number;
      /** `dueAt` of its DEFERRED row; null where it has none. */
      seenDueAt: number | null;
      /** The row's token, where an idempotent provider is sent to again. */
      resendOf?: string;
      unknownSince?: number;
    };

/** Decides from the row's own call where there is one: a message is only a hint. */
export function decide(
  delivered: Call | undefined,
  row: CallRow | undefined,
  {
    plan,
    holds,
    now,
    fraction,
  }: { plan: DialPlan; holds: readonly Hold[]; now: number; fraction: () => number },
): Decision {
  const call = row?.call ?? delivered;
  if (call === undefined || (row !== undefined && !isDue(row, now))) return { kind: "acknowledge" };
  if (row?.state === "UNKNOWN") return decideUnknown(row, call, { plan, now });

  const expiresAt = expiryOf(call, plan);
  const dialAt = Math.max(now, row?.dueAt ?? 0);
  if (dialAt >= expiresAt) return { kind: "write", state: "EXPIRED", reason: "expired" };
  const route = routeOf(call.request.agent_id, plan);
  if (route === undefined) return { kind: "write", state: "PARKED", reason: "no_route" };
  if (!mayBeCalled(call.request, plan)) {
    return { kind: "write", state: "REJECTED", reason: "destination_denied" };
  }
  const held = heldBy(route, holds);
  if (held !== undefined && held.probeAt > now) {
    const dueAt = Math.min(heldUntil(held.probeAt, fraction()), expiresAt);
    return { kind: "write", state: "DEFERRED", reason: holdReason(held), dueAt };
  }
  return {
    kind: "dial",
    call,
    route,
    timeoutSeconds: accountOf(route, plan).timeoutSeconds,
    dialAt,
    attempt: (row?.attempt ?? 0) + 1,
    seenDueAt: row?.dueAt ?? null,
  };
}

function decideUnknown(
  row: CallRow,
  call: Call,
  { plan, now }: { plan: DialPlan; now: number },
): Decision {
  const { token, route, unknownSince } = row;
  if (token === null || route === null || unknownSince === null) return { kind: "acknowledge" };
  const parkAt = unknownSince + plan.parkAfterSeconds * 1000;
  if (now >= parkAt || !isIdempotent(route)) return { kind: "park", token };
  return {
    kind: "dial",
    call,
    route,
    timeoutSeconds: accountOf(route, plan).timeoutSeconds,
    dialAt: now,
    attempt: row.attempt + 1,
    seenDueAt: null,
    resendOf: token,
    unknownSince,
  };
}

/** When a call ends undialed. */
export function expiryOf(call: Call, plan: DialPlan): number {
  return Math.round(call.acceptedAt + plan.expireAfterHours * 3_600_000);
}

function isDue({ state, dueAt }: CallRow, now: number): boolean {
  if (dueAt === null) return false;
  if (state === "DEFERRED") return dueAt <= now + waitMsMax;
  return state === "UNKNOWN" && dueAt <= now;
}
