import { type Call, type Route, accountNameOf } from "../../../shared/calls/call-request.ts";
import { toCall, type CallRow, backlogOf } from "../../../shared/calls/call-row.ts";
import { mayHaveBeenDialed, mayHaveHadRow } from "../../../shared/calls/restore-row.ts";
import { states } from "../../../shared/calls/states.ts";
import { isIdempotent } from "../../../shared/calls/transitions.ts";
import { expiryOf, accountOf, findRoute } from "../../../shared/dial-plan/dial-plan.ts";
import type { DocumentsRead, DocumentKey } from "../../../shared/ports/document-kinds.ts";
import {
  type ControlDocuments,
  restoreKey,
  isLedgerSuspended,
  sweepKey,
  cancellationKeysOf,
  doNotCallKeysOf,
  pauseKeysOf,
} from "../../../shared/policy/controls.ts";
import { claimAheadMsMax, paceKeyOf } from "../../../shared/policy/account-pace.ts";
import {
  type DecisionInputs,
  decideWaiting,
  decideEnd,
  findWaitReason,
  type WaitingDecision,
} from "../../../shared/policy/decide.ts";
import { hashNumber } from "../../../shared/telephony/phone-number.ts";
import { type BacklogOf, breakerKeysOf } from "../../../shared/policy/breakers.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { forgetLedger, seeEpoch } from "../runtime/epoch.ts";

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

/**
 * Reads all documents that bear on these calls at once: breakers, pauses, cancellations, do-not-call, paces, how
 * accounts and backlogs answer, and whether the ledger was restored.
 *
 * @param numbers true to read the do-not-call entry of each number; every call is checked again before it is
 * dialed
 */
export async function readControlDocuments(
  calls: readonly Call[],
  { numbers }: { numbers: boolean },
  deps: DialerDeps,
): Promise<ControlDocuments> {
  const { plan, hashKey } = deps.settings;
  const keys = new Map<string, DocumentKey>();
  const want = (all: readonly DocumentKey[]) => {
    for (const one of all) keys.set(`${one.kind} ${one.key}`, one);
  };
  const backlogs = new Map<string, BacklogOf>();
  for (const call of calls) {
    want(cancellationKeysOf(call));
    const of = { client: call.client, agentId: call.request.agent_id };
    backlogs.set(backlogOf(of), of);
  }
  for (const [key, of] of backlogs) {
    const route = findRoute(of.agentId, plan);
    want(pauseKeysOf(of.agentId, route));
    if (route === undefined) continue;
    want([...breakerKeysOf(of, route), { kind: "backlog", key }]);
    const account = accountNameOf(route);
    want([{ kind: "account", key: account }]);
    if (accountOf(route, plan).pace !== undefined) want([paceKeyOf(account)]);
  }
  const hashes = numbers
    ? calls.map(({ request }) => hashNumber(request.phone_number, hashKey).numberHash)
    : [];
  want(doNotCallKeysOf([...new Set(hashes)], hashKey));
  return readWithSuspension([...keys.values()], deps);
}

/** Reads documents, and whether anything may be dialed by the ledger as it is. */
export async function readWithSuspension(
  keys: readonly DocumentKey[],
  deps: DialerDeps,
): Promise<ControlDocuments> {
  const { documents, memory } = deps;
  const { epochSeen: seenBefore = 0 } = memory;
  const [read] = await Promise.all([
    documents.read([...keys, restoreKey, sweepKey]),
    seeEpoch(deps),
  ]);
  const { epochSeen } = memory;
  // A sweep may have moved the epoch on since the documents were read, so one less counts of what was seen meanwhile.
  const isSuspended =
    epochSeen === undefined || isLedgerSuspended(read, Math.max(seenBefore, epochSeen - 1));
  const restoredAt = read.get(restoreKey.kind, restoreKey.key)?.value.since ?? 0;
  if (isSuspended || restoredAt > memory.restoredAt) forgetLedger(memory, restoredAt);
  return { ...read, isSuspended };
}

/** Combines everything that `decide` needs for calls, as of now. */
export function toKnown(
  documents: ControlDocuments,
  { settings, clock, concurrency }: Pick<DialerDeps, "settings" | "clock" | "concurrency">,
): Known {
  const { plan, schedule, hashKey, providerOf } = settings;
  const canLookUp = (route: Route) => providerOf(route).lookUp !== undefined;
  const hashOf = (number: string) => hashNumber(number, hashKey).numberHash;
  const of = { plan, schedule, hashKey, documents, hashOf, canLookUp };
  return { ...of, now: clock.now(), ahead: new Map(), requestsAtOnce: concurrency };
}

/** Combines two reads; the first one wins. */
export function mergeControlDocuments(
  one: ControlDocuments,
  other: ControlDocuments,
): ControlDocuments {
  return {
    get: (kind, key) => one.get(kind, key) ?? other.get(kind, key),
    isSuspended: one.isSuspended || other.isSuspended,
  };
}

/** Maximum age of the orders and breakers that a request relies on. */
const documentsAgeMsMax = 5_000;

/**
 * Returns a function that reads the documents of a delivery's calls again if they would be more than 5 s old
 * at the requested time, as a call may be dialed minutes after its delivery began, or if this process has
 * opened or closed a breaker since. Age counts from the start of the read.
 */
export function createFreshDocuments(
  calls: readonly Call[],
  first: { read: ControlDocuments; askedAt: number; breakersChanged: number },
  deps: DialerDeps,
): (at: number) => Promise<ControlDocuments> {
  const { clock, memory } = deps;
  let last = { ...first, read: Promise.resolve(first.read) };
  return (at) => {
    const now = clock.now();
    // After the clock was set back, the age is unknown.
    const isOld = now < last.askedAt || at - last.askedAt > documentsAgeMsMax;
    const { breakersChanged } = memory;
    if (isOld || breakersChanged !== last.breakersChanged) {
      const read = readControlDocuments(calls, { numbers: true }, deps);
      const asked = { read, askedAt: now, breakersChanged };
      last = asked;
      asked.read.catch(() => {
        if (last === asked) last = { ...asked, askedAt: -Infinity }; // the next caller reads again
      });
    }
    return last.read;
  };
}
