import { claimLifeMs } from "../lib/timing.ts";
import * as z from "../lib/zod.ts";
import { type Route, sandboxType } from "./call-request.ts";
import {
  isIdempotent,
  waitingLaneOf,
  type CallRow,
  type HistoryEntry,
  type PassedCheck,
  createFirstRow,
  type NewCall,
} from "./call-row.ts";
import { dialingLane, resultsLane, watchLane } from "./lane.ts";
import { type CallAction, type CallState, states } from "./states.ts";
import { keptUntil, mayPromise, mayBeTriedAgain, toCallBackTries } from "./tries.ts";

/**
 * Conditions under which a row may change. Each function takes the row as read and returns the row to write, or
 * undefined if the change is not allowed. The ledger writes a row only while its version is the one read, so a
 * condition that was true at the read is true at the write. The passing of time never turns DIALING into a state that
 * dials, because the claim's holder may still be about to send.
 */

/** A fresh random version and the time of the write, in milliseconds since the epoch. */
export interface Write {
  version: string;
  at: number;
}

/** A decision about a call that nobody has claimed. */
export type Decided =
  | { state: "WAITING"; reason: string; dueAt: number }
  | {
      state: "EXPIRED" | "REJECTED" | "CANCELLED" | "NEEDS_REVIEW";
      reason: string;
      /** Time of the erasure that ends the call. */
      erasedAt?: number;
    };

/** Maximum steps in a history. After them only the call's end is recorded. */
const historyStepsMax = 60;

/** Applies a decision made without a claim, to a call without a row or to a WAITING row. */
export function applyDecision(
  row: CallRow | undefined,
  { newCall, decision }: { newCall: NewCall; decision: Decided },
  write: Write,
): CallRow | undefined {
  if (row !== undefined && row.state !== "WAITING") return undefined;
  return enterState(row ?? createFirstRow(newCall), decision, write);
}

/**
 * Claims a call, as a write-ahead intent to dial: a call without a row, a WAITING row that is due or, for a
 * resend, an UNKNOWN row whose provider deduplicates requests. The version of this write names the claim.
 *
 * @throws if a test call would go along a real route, or a real one along the sandbox's
 */
export function applyClaim(
  row: CallRow | undefined,
  {
    newCall,
    route,
    account,
    checks,
  }: {
    newCall: NewCall;
    route: Route;
    account: { name: string; timeoutSeconds: number };
    checks?: PassedCheck[] | undefined;
  },
  { version, at }: Write,
): CallRow | undefined {
  const isResend = row?.state === "UNKNOWN" && isIdempotent(row.route);
  const isDue = row?.state === "WAITING" && row.dueAt !== null && row.dueAt <= at;
  if (row !== undefined && !isResend && !isDue) return undefined;
  const before = row ?? createFirstRow(newCall);
  const reason = isResend ? "resent" : "claimed";
  // A resend goes to the account and address of the first request, even if the plan has changed since.
  const along = (isResend ? before.route : null) ?? route;
  if ((before.mode === "test") !== (along.provider === sandboxType)) {
    throw new Error("a test call would leave the sandbox, or a real one enter it");
  }
  const claimed = enterState(before, { state: "DIALING", reason }, { version, at });
  return {
    ...(checks === undefined ? claimed : withPassedChecks(claimed, checks)),
    lane: dialingLane({ ...before, account: account.name }),
    dueAt: at + claimLifeMs(account.timeoutSeconds),
    claims: [...before.claims, version],
    attempt: before.attempt + 1,
    resent: before.resent || isResend,
    claimedAt: at,
    lostUntil: null,
    route: along,
  };
}

/**
 * Adds to a freshly claimed row the checks that permit the call. They are part of the claim's step. If the history is
 * full, and so does not record the claim, they replace the oldest step of a claim, because the proof for the latest
 * claim must stay.
 */
function withPassedChecks(row: CallRow, passed: PassedCheck[]): CallRow {
  const { history, reason, state, updatedAt } = row;
  const step: HistoryEntry = { at: updatedAt, state, reason, checks: passed };
  const last = history.at(-1);
  if (last?.state === state && last.at === updatedAt) {
    return { ...row, history: [...history.slice(0, -1), step] };
  }
  const oldest = Math.max(
    0,
    history.findIndex(({ checks }) => checks !== undefined),
  );
  return { ...row, history: [...history.toSpliced(oldest, 1), step] };
}

/** Result of a claim, reported by its holder. It is sent as an `outcome` message if the ledger does not take it. */
export const settlementSchema = z.strictObject({
  id: z.string(),
  /** Version of the claim's write. */
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
  /** Present for WAITING and UNKNOWN. */
  dueAt: z.optional(z.number()),
  providerCallId: z.optional(z.string()),
  /** CANCELLED: time of the erasure that ended the call. */
  erasedAt: z.optional(z.number()),
  /** PLACED: time of the first poll for the result. Absent: the result is not polled. */
  pollAt: z.optional(z.number()),
  at: z.number(),
});
export type Settlement = z.infer<typeof settlementSchema>;

/**
 * Applies a settlement. PLACED is accepted under any of the row's claims, from any state, so that a late success is
 * never lost. Other settlements are accepted only under the last claim. They leave a resent call UNKNOWN, as the
 * answer may concern only the second request.
 */
export function applySettlement(
  row: CallRow,
  settlement: Settlement,
  version: string,
): CallRow | undefined {
  const { claim, state, reason, dueAt, providerCallId, pollAt, at, erasedAt } = settlement;
  const write = { version, at };
  if (!row.claims.includes(claim)) return undefined;
  if (state === "PLACED") {
    if (row.state === "PLACED") return undefined;
    const placed = enterState(row, { state, reason }, write);
    const asked = {
      ...placed,
      providerCallId: providerCallId ?? row.providerCallId,
      ...(pollAt === undefined || row.route === null
        ? {}
        : { lane: resultsLane(row.route), dueAt: pollAt }),
    };
    return row.tries === undefined ? asked : toPlacedWithTries(asked, row.request, at);
  }
  if (row.claims.at(-1) !== claim) return undefined;
  const isUnknown = state === "UNKNOWN" || row.resent;
  if (!states[row.state].settlesTo.includes(isUnknown ? "UNKNOWN" : state)) return undefined;
  if (isUnknown) return toUnknown(row, { reason, dueAt: dueAt ?? at }, write);
  if (state === "WAITING") return enterState(row, { state, reason, dueAt: dueAt ?? at }, write);
  return enterState(row, { state, reason, ...(erasedAt === undefined ? {} : { erasedAt }) }, write);
}

/** Keeps a placed call's request for the call that may follow until its result is known, at the latest until none may. */
function toPlacedWithTries(placed: CallRow, request: CallRow["request"], at: number): CallRow {
  const { dueAt, tries } = placed;
  if (dueAt === null || tries === undefined || placed.erasedAt !== undefined) return placed;
  if (!mayBeTriedAgain(placed, at) && !mayPromise(placed, at)) return placed;
  return { ...placed, request, dueAt: Math.min(dueAt, keptUntil(tries)) };
}

/**
 * Turns a row UNKNOWN whose holder has not settled in time, as the holder may have dialed. `dueAt` is the next
 * look-up or the review.
 */
export function expireClaim(row: CallRow, dueAt: number, write: Write): CallRow | undefined {
  if (row.state !== "DIALING" || row.dueAt === null || row.dueAt > write.at) return undefined;
  return toUnknown(row, { reason: "claim_lapsed", dueAt }, write);
}

/** Records a look-up that found nothing. The next one follows at `dueAt`. */
export function recordLookupMiss(row: CallRow, dueAt: number, write: Write): CallRow | undefined {
  if (row.state !== "UNKNOWN") return undefined;
  const next = toUnknown(row, { reason: "not_found", dueAt }, write);
  return { ...next, misses: row.misses + 1 };
}

/** Moves a row whose outcome stayed unknown to NEEDS_REVIEW. */
export function requireReview(
  row: CallRow,
  reviewAfterSeconds: number,
  write: Write,
): CallRow | undefined {
  if (row.state !== "UNKNOWN" || row.unknownSince === null) return undefined;
  if (write.at < row.unknownSince + reviewAfterSeconds * 1000) return undefined;
  return enterState(row, { state: "NEEDS_REVIEW", reason: "outcome_unknown" }, write);
}

/** An operator's decision about one call, or its client's. */
export type OperatorAction =
  | { to: "PLACED" | "CANCELLED" }
  | { to: "CANCELLED"; reason: "client" }
  /** Id of the call that replaces this one. */
  | { to: "REDIALED"; redialedAs: string };

/** Actions that lead to a state. */
const actionsTo: Readonly<Record<OperatorAction["to"], readonly CallAction[]>> = {
  PLACED: ["resolve"],
  CANCELLED: ["cancel", "resolve"],
  REDIALED: ["redial"],
};

/**
 * Applies an operator's or a client's action to a row in whose state it is allowed.
 *
 * @param taken.by id of the token of the operator, or of the client where that is the action's reason
 */
export function applyAction(
  row: CallRow,
  { action, by }: { action: OperatorAction; by: string },
  write: Write,
): CallRow | undefined {
  if (!states[row.state].actions.some((allowed) => actionsTo[action.to].includes(allowed))) {
    return undefined;
  }
  // A row whose number is erased must not name a call that never comes.
  if (action.to === "REDIALED" && row.request === null) return undefined;
  const reason = "reason" in action ? action.reason : "operator";
  const next = enterState(row, { state: action.to, reason, by }, write);
  return action.to === "REDIALED" ? { ...next, redialedAs: action.redialedAs } : next;
}

/**
 * Makes a waiting successor the call-back that was promised instead. Nothing of a call that was claimed, acted on or erased
 * changes.
 */
export function applyCallBack(row: CallRow, promisedAt: number, write: Write): CallRow | undefined {
  const { state, tries, request, erasedAt, history } = row;
  if (state !== "WAITING" || tries === undefined || tries.promisedAt !== undefined)
    return undefined;
  if (request === null || erasedAt !== undefined || history.some(({ by }) => by !== undefined))
    return undefined;
  const waits = { state: "WAITING", reason: "call_back", dueAt: promisedAt } as const;
  // Its backlog depends on its tries.
  const promised = { ...row, tries: toCallBackTries(tries, tries.number, promisedAt) };
  return enterState(promised, waits, write);
}

/** Returns the row UNKNOWN, since then or since it first became unknown. */
export function toUnknown(
  row: CallRow,
  { reason, dueAt }: { reason: string; dueAt: number },
  write: Write,
): CallRow {
  const next = enterState(row, { state: "UNKNOWN", reason, dueAt }, write);
  return { ...next, unknownSince: row.unknownSince ?? write.at };
}

/** Returns the row in another state and that state's backlog, with one more step in its history. */
export function enterState(
  row: CallRow,
  to: { state: CallState; reason: string; dueAt?: number; by?: string; erasedAt?: number },
  { version, at }: Write,
): CallRow {
  const { state, reason, dueAt, by } = to;
  const { lane, erasesPayload } = states[state];
  const isWaiting = lane === "waiting";
  const entry: HistoryEntry = { at, state, reason };
  if (dueAt !== undefined) entry.dueAt = dueAt;
  if (by !== undefined) entry.by = by;
  const next: CallRow = {
    ...row,
    version,
    state,
    reason,
    // Callers that claim a row or record a result set the lane themselves.
    lane: isWaiting ? waitingLaneOf(row) : lane === "watch" ? watchLane : null,
    dueAt: dueAt ?? null,
    request: erasesPayload ? null : row.request,
    updatedAt: at,
    history: isRecorded(row, entry) ? [...row.history, entry] : row.history,
    // The call certainly was not placed, so no earlier claim can be settled PLACED.
    ...(isWaiting
      ? { claims: [], resent: false, lostUntil: null, unknownSince: null, misses: 0 }
      : {}),
    ...(isWaiting && row.claims.length > 0 ? { released: releasedOf(row) } : {}),
  };
  const erasedAt = to.erasedAt ?? row.erasedAt;
  if (erasedAt === undefined) return next;
  return states[state].open ? { ...next, erasedAt } : withoutPerson(next, erasedAt);
}

/** Maximum released claims that a row names: the last ones are those whose callbacks may still come. */
const releasedMax = 8;

function releasedOf({ released = [], claims }: CallRow): string[] {
  return [...released, ...claims].slice(-releasedMax);
}

/** Returns a row without what it holds of a person. Its keyed hash stays: by it the row is found. */
export function withoutPerson(row: CallRow, erasedAt: number): CallRow {
  const history = withoutEvidence(row.history);
  const { clientReceiverEcho: _, ...kept } = row;
  return { ...kept, request: null, numberTail: "", echo: null, history, erasedAt };
}

/** Returns a history without the evidence of its checks, for a row whose personal data is erased. */
function withoutEvidence(history: readonly HistoryEntry[]): HistoryEntry[] {
  return history.map(({ checks, ...step }) =>
    checks === undefined
      ? step
      : { ...step, checks: checks.map(({ check, at }) => ({ check, at })) },
  );
}

/** A wait for the same reason is not recorded again, and a full history takes only the call's end. */
function isRecorded(row: CallRow, { state, reason }: HistoryEntry): boolean {
  const isRepeated = row.history.length > 0 && row.state === state && row.reason === reason;
  return !isRepeated && (row.history.length < historyStepsMax || !states[state].open);
}
