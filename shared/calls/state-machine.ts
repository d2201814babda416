import * as z from "zod";
import type { Route } from "../providers/index.ts";
import type { Call } from "./call.ts";
import {
  backlogOf,
  type CallRow,
  type CallState,
  type HistoryEntry,
  watchBacklog,
} from "./call-row.ts";

/**
 * The conditions under which a row may change: each function takes the row as it was read and answers with the row
 * that is to be written, or undefined where the change is not allowed. The ledger writes a row only where the version
 * that was read still stands, so a condition that held when the row was read holds when it is written.
 *
 * DIALING never becomes anything that dials by the passing of time: its holder may still be about to send.
 */

/** A fresh random version and the time of the write, in milliseconds since the epoch. */
export interface Write {
  version: string;
  at: number;
}

/** A call and what is kept of its number, as its first row needs them. */
export interface NewCall {
  call: Call;
  numberHash: string;
  numberTail: string;
}

/** A decision about a call that nobody has claimed. */
export type Decided =
  | { state: "WAITING"; reason: string; dueAt: number }
  | { state: "EXPIRED" | "REJECTED" | "CANCELLED" | "NEEDS_REVIEW"; reason: string };

/** The longest time from a claim to its request: an older claim is not dialed. */
export const claimAgeMsMax = 10_000;
/** What a holder has left to settle after the provider's time limit, before its claim lapses. */
const settleMs = 15_000;

/** Steps that a history tells; of what comes after them it tells how the call ended. */
const historyStepsMax = 60;
const endStates: ReadonlySet<CallState> = new Set([
  "PLACED",
  "REJECTED",
  "EXPIRED",
  "CANCELLED",
  "REDIALED",
  "NEEDS_REVIEW",
]);

/** What was decided without a claim: of a call without a row, or of a WAITING row. */
export function decided(
  row: CallRow | undefined,
  { call, numberHash, numberTail }: NewCall,
  decision: Decided,
  write: Write,
): CallRow | undefined {
  if (row !== undefined && row.state !== "WAITING") return undefined;
  return moved(row ?? firstRow(call, numberHash, numberTail), decision, write);
}

/**
 * The write-ahead intent to dial: of a call without a row, of a WAITING row that is due, or, as a resend, of an
 * UNKNOWN row whose provider drops what it has seen. The version of this write is the claim's name.
 */
export function claimed(
  row: CallRow | undefined,
  { call, numberHash, numberTail }: NewCall,
  { route, timeoutSeconds }: { route: Route; timeoutSeconds: number },
  { version, at }: Write,
): CallRow | undefined {
  const isResend = row?.state === "UNKNOWN" && isIdempotent(row.route);
  const isDue = row?.state === "WAITING" && row.dueAt !== null && row.dueAt <= at;
  if (row !== undefined && !isResend && !isDue) return undefined;
  const before = row ?? firstRow(call, numberHash, numberTail);
  const reason = isResend ? "resent" : "claimed";
  return {
    ...moved(before, { state: "DIALING", reason }, { version, at }),
    dueAt: at + claimAgeMsMax + timeoutSeconds * 1000 + settleMs,
    claims: [...before.claims, version],
    attempt: before.attempt + 1,
    resent: before.resent || isResend,
    claimedAt: at,
    // A resend goes to the account and the address that the first request went to, whatever the plan says by now.
    route: isResend ? before.route : route,
  };
}

/** What became of a claim, said by its holder; it travels as an `outcome` where the ledger would not take it. */
export const settlementSchema = z.strictObject({
  id: z.string(),
  /** The version of the claim's write. */
  claim: z.string(),
  state: z.enum([
    "PLACED",
    "WAITING",
    "REJECTED",
    "UNKNOWN",
    "NEEDS_REVIEW",
    "CANCELLED",
    "EXPIRED",
  ]),
  reason: z.string(),
  /** With WAITING and UNKNOWN. */
  dueAt: z.number().optional(),
  providerCallId: z.string().optional(),
  at: z.number(),
});
export type Settlement = z.infer<typeof settlementSchema>;

/**
 * PLACED is taken under any of the row's claims, from any state: a late success is never lost. All else is taken under
 * the last claim alone, and leaves a call that was once resent UNKNOWN: the answer may be about the second request.
 */
export function settled(
  row: CallRow,
  settlement: Settlement,
  version: string,
): CallRow | undefined {
  const { claim, state, reason, dueAt, providerCallId, at } = settlement;
  const write = { version, at };
  if (!row.claims.includes(claim)) return undefined;
  if (state === "PLACED") {
    if (row.state === "PLACED") return undefined;
    const placed = moved(row, { state, reason }, write);
    return { ...placed, request: null, providerCallId: providerCallId ?? row.providerCallId };
  }
  if (row.claims.at(-1) !== claim) return undefined;
  const isUnknown = state === "UNKNOWN" || row.resent;
  const fromStates = isUnknown ? ["DIALING"] : settledFrom[state];
  if (!fromStates.includes(row.state)) return undefined;
  if (isUnknown) return unknown(row, { reason, dueAt: dueAt ?? at }, write);
  if (state === "WAITING") return moved(row, { state, reason, dueAt: dueAt ?? at }, write);
  return moved(row, { state, reason }, write);
}

/** States that a settlement under the last claim may leave. */
const settledFrom: Record<Exclude<Settlement["state"], "PLACED" | "UNKNOWN">, CallState[]> = {
  WAITING: ["DIALING", "UNKNOWN"],
  REJECTED: ["DIALING", "UNKNOWN"],
  CANCELLED: ["DIALING"],
  EXPIRED: ["DIALING"],
  NEEDS_REVIEW: ["DIALING"],
};

/** A claim whose holder has not settled in time: it may have dialed. `dueAt` is the next look-up or the review. */
export function lapsed(row: CallRow, dueAt: number, write: Write): CallRow | undefined {
  if (row.state !== "DIALING" || row.dueAt === null || row.dueAt > write.at) return undefined;
  return unknown(row, { reason: "claim_lapsed", dueAt }, write);
}

/** The provider was asked for a call and had nothing to show; it is asked again at `dueAt`. */
export function missed(row: CallRow, dueAt: number, write: Write): CallRow | undefined {
  if (row.state !== "UNKNOWN") return undefined;
  const next = unknown(row, { reason: "not_found", dueAt }, write);
  return { ...next, misses: row.misses + 1 };
}

/** An unknown outcome that stayed unknown: a person decides. */
export function reviewed(
  row: CallRow,
  reviewAfterSeconds: number,
  write: Write,
): CallRow | undefined {
  if (row.state !== "UNKNOWN" || row.unknownSince === null) return undefined;
  if (write.at < row.unknownSince + reviewAfterSeconds * 1000) return undefined;
  return moved(row, { state: "NEEDS_REVIEW", reason: "outcome_unknown" }, write);
}

/** What an operator has decided about one call. */
export type OperatorAct =
  | { to: "PLACED" | "CANCELLED" }
  /** The id of the call that is made in its stead. */
  | { to: "REDIALED"; redialedAs: string };

/** States that an operator may take a call out of, by the state that it comes to. */
export const actedFrom: Record<OperatorAct["to"], readonly CallState[]> = {
  PLACED: ["NEEDS_REVIEW"],
  CANCELLED: ["WAITING", "NEEDS_REVIEW"],
  REDIALED: ["NEEDS_REVIEW", "REJECTED", "EXPIRED"],
};

/** @param by the operator's token's id */
export function acted(
  row: CallRow,
  act: OperatorAct,
  by: string,
  write: Write,
): CallRow | undefined {
  if (!actedFrom[act.to].includes(row.state)) return undefined;
  const next = moved(row, { state: act.to, reason: "operator", by }, write);
  if (act.to === "PLACED") return { ...next, request: null };
  return act.to === "REDIALED" ? { ...next, redialedAs: act.redialedAs } : next;
}

/** Whether the route's provider drops a request that it has seen under the same id. */
export function isIdempotent(route: CallRow["route"]): boolean {
  return route !== null && "idempotent" in route && route.idempotent === true;
}

function firstRow(call: Call, numberHash: string, numberTail: string): CallRow {
  return {
    id: call.id,
    version: "",
    state: "WAITING",
    reason: "accepted",
    backlog: null,
    dueAt: null,
    claims: [],
    attempt: 0,
    resent: false,
    claimedAt: null,
    unknownSince: null,
    misses: 0,
    request: call.request,
    ancestors: call.ancestors ?? [],
    route: null,
    providerCallId: null,
    redialedAs: null,
    client: call.client,
    agentId: call.request.agent_id,
    numberHash,
    numberTail,
    acceptedAt: call.acceptedAt,
    updatedAt: call.acceptedAt,
    history: [],
  };
}

function unknown(
  row: CallRow,
  { reason, dueAt }: { reason: string; dueAt: number },
  write: Write,
): CallRow {
  const next = moved(row, { state: "UNKNOWN", reason, dueAt }, write);
  return { ...next, unknownSince: row.unknownSince ?? write.at };
}

/** The row in another state, in the backlog of that state, with one more step in its history. */
function moved(
  row: CallRow,
  to: { state: CallState; reason: string; dueAt?: number; by?: string },
  { version, at }: Write,
): CallRow {
  const { state, reason, dueAt, by } = to;
  const isWaiting = state === "WAITING";
  const isWatched = state === "DIALING" || state === "UNKNOWN";
  const entry: HistoryEntry = { at, state, reason };
  if (dueAt !== undefined) entry.dueAt = dueAt;
  if (by !== undefined) entry.by = by;
  return {
    ...row,
    version,
    state,
    reason,
    backlog: isWaiting ? backlogOf(row) : isWatched ? watchBacklog : null,
    dueAt: dueAt ?? null,
    updatedAt: at,
    history: isTold(row, entry) ? [...row.history, entry] : row.history,
    // It surely was not placed: no earlier claim can be.
    ...(isWaiting ? { claims: [], resent: false, unknownSince: null, misses: 0 } : {}),
  };
}

/** A wait for the same reason as before is not told again, and a long history only how the call ended. */
function isTold(row: CallRow, { state, reason }: HistoryEntry): boolean {
  const isRepeated = row.history.length > 0 && row.state === state && row.reason === reason;
  return !isRepeated && (row.history.length < historyStepsMax || endStates.has(state));
}
