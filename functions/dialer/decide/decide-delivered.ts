import { hashedNumberOf } from "../../../shared/calls/ids.ts";
import type { Call, Route } from "../../../shared/calls/call-request.ts";
import { toCall, type CallRow, backlogOf } from "../../../shared/calls/call-row.ts";
import type { Permission } from "../../../shared/calls/passed-check.ts";
import { mayHaveBeenDialed, mayHaveHadRow } from "../../../shared/calls/restore-row.ts";
import { states } from "../../../shared/calls/states.ts";
import { isIdempotent } from "../../../shared/calls/transitions.ts";
import type { DocumentsRead, DocumentKey } from "../../../shared/ports/document-kinds.ts";
import {
  type ControlDocuments,
  restoreKey,
  isLedgerSuspended,
  sweepKey,
  cancellationKeysOf,
  pauseKeysOf,
  moreKeysOf,
  doNotCallKeysOf,
  listIn,
} from "../../../shared/policy/controls.ts";
import { claimAheadMsMax, paceKeyOf } from "../../../shared/policy/account-pace.ts";
import {
  type DecisionInputs,
  decideWaiting,
  decideEnd,
  findWaitReason,
  type WaitingDecision,
} from "../../../shared/rules/decide.ts";
import { decideFirst } from "../../../shared/rules/decide-first.ts";
import {
  createResolver,
  hashesUnder,
  type ResolvedCall,
  type ResolvedRoute,
} from "../../../shared/rules/resolved-call.ts";
import { callerIdsKeyOf } from "../../../shared/policy/caller-ids.ts";
import { dayKeyOf } from "../../../shared/policy/day-counts.ts";
import { allHashesOf } from "../../../shared/telephony/phone-number.ts";
import * as z from "../../../shared/lib/zod.ts";
import { type BacklogOf, breakerKeysOf } from "../../../shared/policy/breakers.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { noteReceivers, unknownReceivers } from "../../../shared/events/outbox-ledger.ts";
import { forgetLedger, seeEpoch } from "../runtime/epoch.ts";

/** A call that is to be claimed and dialed. */
export interface Dial extends ResolvedCall {
  kind: "dial";
  /** The row, as read. Undefined: no row. UNKNOWN: a resend. */
  row: CallRow | undefined;
  /** The route with its chosen calling number; of a resend, that of its first request. */
  target: ResolvedRoute;
  /** Earliest time of the request, in milliseconds since the epoch. */
  dialAt: number;
  /** The permission of its checks. Absent: the route has none, or they were not asked yet. */
  permission?: Permission | undefined;
}

/** A call of unknown outcome to be looked up at its provider. */
export interface LookUp {
  kind: "look_up";
  call: Call;
  row: CallRow & { route: Route; claimedAt: number };
  /** True after the review time. Then a call that is not found goes to NEEDS_REVIEW. */
  orReview: boolean;
}

/** The action for a call, decided before any claim. A row that is final or not due is left. */
export type Decision =
  | Exclude<WaitingDecision, { kind: "dial" }>
  /** The outcome stayed unknown until the review time. */
  | { kind: "review"; row: CallRow }
  | LookUp
  | Dial;

export interface Known extends DecisionInputs {
  documents: ControlDocuments;
  canLookUp(route: Route): boolean;
}

/** Why a row is left of which only a later version can read a document. */
const unreadable = "document_unreadable";

/**
 * Decides about a call, by its row if one exists, as a message is only a hint. A call waits while only a later version can
 * read a document of its own, such as its agent's cancellation: the others must go on.
 */
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
  try {
    if (mayHaveBeenLost(call, row, known.documents)) {
      return { kind: "write", decided: decideFirst(call, "restored", known) };
    }
    const resolved = known.resolver.resolve(call, row);
    if (row?.state === "UNKNOWN") return decideUnknown(row, resolved, known);
    const decision = decideWaiting(resolved, known);
    return decision.kind === "dial" ? Object.assign(resolved, decision) : decision;
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    if (row !== undefined) return { kind: "leave", because: unreadable };
    return { kind: "write", decided: { state: "WAITING", reason: "turn", dueAt: known.now } };
  }
}

/** True if a call is left as one of its documents is unreadable. Raises an alarm, once for each client and agent. */
export function isLeftUnread(
  decision: Decision,
  { client, agentId }: BacklogOf,
  { memory, log }: Pick<DialerDeps, "memory" | "log">,
): boolean {
  if (decision.kind !== "leave" || decision.because !== unreadable) return false;
  const name = backlogOf({ client, agentId });
  if (!memory.unreadableSaidOf.has(name)) {
    log("alarm", "document.unreadable", { client, agent_id: agentId });
  }
  memory.unreadableSaidOf.add(name);
  return true;
}

/**
 * True if a call may have been dialed in the time that a restore lost. Its row may be lost, or a function that stood
 * still may have written the row after the sweeps went through the rows.
 */
export function mayHaveBeenLost(
  call: Call,
  row: CallRow | undefined,
  documents: DocumentsRead,
): boolean {
  const restore = documents.get("restore", restoreKey.key)?.value;
  if (restore === undefined) return false;
  if (row === undefined) return mayHaveHadRow(call, restore.since);
  const { at, since } = restore;
  return row.state === "WAITING" && mayHaveBeenDialed(row, { at: at ?? since, since });
}

/** Keeps a call waiting until the restore is over. The call may have been dialed, so not even its end is decided. */
function holdBack(call: Call, row: CallRow | undefined): Decision {
  if (row !== undefined) return { kind: "leave", because: "restored" };
  // Due since its acceptance, so that `mayHaveBeenDialed` can compare it with the restore's time.
  const waits = { state: "WAITING", reason: "restored", dueAt: call.acceptedAt } as const;
  return { kind: "write", decided: waits };
}

function isDue({ state, dueAt }: CallRow, now: number): boolean {
  const { index } = states[state];
  return (
    (index === "backlog" || index === "watch") && dueAt !== null && dueAt <= now + claimAheadMsMax
  );
}

function decideUnknown(row: CallRow, resolved: ResolvedCall, known: Known): Decision {
  const { table, schedule, now, canLookUp, resolver } = known;
  const { call, expiresAt } = resolved;
  const { route, unknownSince, claimedAt } = row;
  if (route === null || unknownSince === null || claimedAt === null) {
    return { kind: "leave", because: "not_due" };
  }
  const isOver = now >= unknownSince + table.plan.reviewAfterSeconds * 1000;
  if (canLookUp(route)) {
    return { kind: "look_up", call, row: { ...row, route, claimedAt }, orReview: isOver };
  }
  if (isOver) return { kind: "review", row };
  // A resend may ring, so it needs everything that a first request needs.
  const target = resolver.along(route, resolved.of);
  const opening = schedule.opening(call.request, route, { from: now, until: expiresAt });
  const mayRing =
    isIdempotent(route) &&
    decideEnd(resolved, now, known) === undefined &&
    findWaitReason(resolved, target, known) === undefined &&
    opening.at !== undefined &&
    opening.at <= now;
  if (!mayRing) return { kind: "leave", because: "not_now" };
  const dialAt = Math.max(now, row.dueAt ?? 0);
  return Object.assign(resolved, { kind: "dial" as const, row, target, dialAt });
}

/**
 * Reads all documents that control these calls at once: breakers, pauses, cancellations, do-not-call entries, paces,
 * accounts, backlogs, and those that show a restore.
 *
 * @param numbers true to read the do-not-call entry of each number; every call is checked again before it is
 * dialed
 */
export async function readControlDocuments(
  calls: readonly Call[],
  { numbers }: { numbers: boolean },
  deps: DialerDeps,
): Promise<ControlDocuments> {
  const { plan, table, hashKeys } = deps.settings;
  const resolver = createResolver(table, hashesUnder(hashKeys));
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
    const target = resolver.find(of);
    want(target?.pauses ?? pauseKeysOf(of, undefined));
    if (target === undefined) continue;
    const { route, account, breakers } = target;
    const { name, pace, callsPerDay } = account;
    want([...breakerKeysOf(of, breakers), { kind: "backlog", key }]);
    want([{ kind: "account", key: name }]);
    if (pace !== undefined) want([paceKeyOf(name)]);
    if (route.callerIds !== undefined) want([callerIdsKeyOf(route)]);
    if (callsPerDay !== undefined) want([dayKeyOf({ account: name }, deps.clock.now())]);
  }
  const hashes = numbers
    ? calls.flatMap((call) => allHashesOf(hashedNumberOf(call), hashKeys).asked)
    : [];
  want(doNotCallKeysOf([...new Set(hashes)]));
  const more = numbers ? moreKeysOf(calls, hashKeys) : [];
  if (deps.memory.readsMore) want(more);
  const own = { ...deps, plan, ownReceivers: deps.memory.ownReceivers };
  const receivers = unknownReceivers(
    calls.map(({ client }) => client),
    own,
  );
  want(receivers);
  const read = await readWithSuspension([...keys.values()], deps);
  noteReceivers(receivers, read, own);
  if (deps.memory.readsMore || listIn(read)?.hasMore !== true) return read;
  // Only a process that learns of the first such document reads twice. Others have them in their one read.
  deps.memory.readsMore = true;
  if (more.length === 0) return read;
  return mergeControlDocuments(read, await readWithSuspension(more, deps));
}

/** Reads documents, and checks that the ledger was not restored. */
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
  // A sweep may have raised the epoch since the documents were read, so an epoch seen meanwhile counts as one less.
  const isSuspended =
    epochSeen === undefined || isLedgerSuspended(read, Math.max(seenBefore, epochSeen - 1));
  const restoredAt = read.get(restoreKey.kind, restoreKey.key)?.value.since ?? 0;
  if (isSuspended || restoredAt > memory.restoredAt) forgetLedger(memory, restoredAt);
  return { ...read, isSuspended };
}

/** Combines the inputs of `decide`, as of now. */
export function toKnown(
  documents: ControlDocuments,
  { settings, clock, concurrency }: Pick<DialerDeps, "settings" | "clock" | "concurrency">,
): Known {
  const { table, schedule, hashKeys, providerOf } = settings;
  return {
    table,
    resolver: createResolver(table, hashesUnder(hashKeys)),
    schedule,
    hashKeys,
    documents,
    canLookUp: (route) => providerOf(route).lookUp !== undefined,
    now: clock.now(),
    ahead: new Map(),
    requestsAtOnce: concurrency,
  };
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

/** Maximum age of the controls that a request relies on. */
const documentsAgeMsMax = 5_000;

/**
 * Returns a function that returns the documents of a delivery's calls. It reads them again if they would be more than
 * 5 s old at the requested time, as calls may be dialed minutes after the delivery began, or if this process has
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
    // If the clock was set back, the age is unknown.
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
