import { claimAheadMsMax } from "#shared/lib/timing.ts";
import { accountNameOf, type Call, type Route } from "#shared/calls/call-request.ts";
import {
  toCall,
  type CallRow,
  backlogOf,
  isIdempotent,
  type ClientAgent,
  type Permission,
} from "#shared/calls/call-row.ts";
import { states } from "#shared/calls/states.ts";
import type { Decided } from "#shared/calls/transitions.ts";
import type { ControlDocuments } from "#shared/policy/ledger-epoch.ts";
import { delivery, ends, inTurn, resend, trusted } from "#shared/rules/gates.ts";
import { type Facts, findVerdict, pass, toDecided, type Verdict } from "#shared/rules/rule.ts";
import {
  createResolver,
  type ResolvedCall,
  type ResolvedRoute,
  type Resolver,
} from "#shared/rules/resolved-call.ts";
import { UnreadableError } from "#shared/ports/unreadable.ts";
import { minuteMs } from "#shared/lib/units.ts";
import type { DialerDeps } from "../runtime/context.ts";

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
  /** No action now: the row waits for its turn, for the end of a pause, for a breaker, or for a route. */
  | { kind: "leave"; because: string }
  /** The state to write into the row or a new row. */
  | { kind: "write"; decided: Decided }
  /** The outcome stayed unknown until the review time. */
  | { kind: "review"; row: CallRow }
  | LookUp
  | Dial;

/** Facts of the calls of a delivery or a look, as of now. */
export interface DecisionFacts extends Omit<Facts, "at"> {
  resolver: Resolver;
  canLookUp(route: Route): boolean;
}

/** Reason of a row that is left because only a later version can read one of its documents. */
const unread = "document_unreadable";

/**
 * Decides about a call, by its row if one exists, as a message is only a hint. A call waits while only a later version can
 * read a document of its own, such as its agent's cancellation: the others must continue.
 */
export function decide(
  delivered: Call | undefined,
  row: CallRow | undefined,
  known: DecisionFacts,
): Decision {
  const call = row === undefined ? delivered : toCall(row);
  if (call === undefined || (row !== undefined && !isDue(row, known.now))) {
    return { kind: "leave", because: "not_due" };
  }
  try {
    return decideDue(known.resolver.resolve(call, row), known);
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    if (row !== undefined) return { kind: "leave", because: unread };
    return { kind: "write", decided: toDecided(inTurn, known.now) };
  }
}

function decideDue(call: ResolvedCall, known: DecisionFacts): Decision {
  const { row } = call;
  const facts = { ...known, at: Math.max(known.now, row?.dueAt ?? 0) };
  const before = findVerdict(trusted, call, facts);
  if (before !== undefined) return toDecision(before, call, facts);
  if (row?.state === "UNKNOWN") return decideUnknown(row, call, known);
  const passed = pass(delivery, call, facts);
  if (passed.kind !== "passed") return toDecision(passed, call, facts);
  const { target, notBefore: dialAt } = passed;
  if (target === undefined) return { kind: "leave", because: "not_now" };
  return Object.assign(call, { kind: "dial" as const, row, target, dialAt });
}

/** Returns what a verdict means for a call that nobody has claimed. A row that keeps its place stays unchanged. */
function toDecision(verdict: Verdict, { row }: ResolvedCall, { now }: DecisionFacts): Decision {
  if (verdict.kind !== "hold") return { kind: "write", decided: toDecided(verdict, now) };
  const { reason, firstDueAt = now } = verdict;
  if (row !== undefined) return { kind: "leave", because: reason };
  return { kind: "write", decided: toDecided(verdict, firstDueAt) };
}

/** Time after which a call is looked at again that waits as one of its documents is unreadable. */
const unreadMs = 5 * minuteMs;

/** The verdict on a waiting call that was delivered for nothing so: it gives its place to the calls behind it. */
export function behindOthers(now: number): Verdict {
  return { kind: "later", reason: "not_checked", at: now + unreadMs };
}

/** True if a call is left as one of its documents is unreadable. Raises an alarm, once for each client and agent. */
export function isLeftUnread(
  decision: Decision,
  { client, agentId }: ClientAgent,
  { memory, log }: Pick<DialerDeps, "memory" | "log">,
): boolean {
  if (decision.kind !== "leave" || decision.because !== unread) return false;
  const name = backlogOf({ client, agentId });
  if (!memory.documents.unreadableSaidOf.has(name)) {
    log("alarm", "document.unreadable", { client, agent_id: agentId });
  }
  memory.documents.unreadableSaidOf.add(name);
  return true;
}

function isDue({ state, dueAt }: CallRow, now: number): boolean {
  const { lane } = states[state];
  return (
    (lane === "waiting" || lane === "watch") && dueAt !== null && dueAt <= now + claimAheadMsMax
  );
}

function decideUnknown(row: CallRow, resolved: ResolvedCall, known: DecisionFacts): Decision {
  const { table, now, canLookUp, resolver } = known;
  const { route, unknownSince, claimedAt } = row;
  if (route === null || unknownSince === null || claimedAt === null) {
    return { kind: "leave", because: "not_due" };
  }
  const isOver = now >= unknownSince + table.plan.reviewAfterSeconds * 1000;
  if (canLookUp(route)) {
    const { call } = resolved;
    return { kind: "look_up", call, row: { ...row, route, claimedAt }, orReview: isOver };
  }
  if (isOver) return { kind: "review", row };
  const facts = { ...known, at: now };
  const isForbidden = !isIdempotent(route) || isTakenBack(route, resolved);
  const mayEnd = isForbidden || findVerdict(ends, resolved, facts) !== undefined;
  if (mayEnd) return { kind: "leave", because: "not_now" };
  const target = resolver.along(underToday(route, resolved), resolved.of);
  const along = Object.assign(resolved, { target });
  if (findVerdict(resend, along, facts) !== undefined) return { kind: "leave", because: "not_now" };
  const dialAt = Math.max(now, row.dueAt ?? 0);
  return Object.assign(along, { kind: "dial" as const, row, target, dialAt });
}

/** True if the agent's calls still go to the account of a row's route, but its plan no longer promises that resends ring once. */
function isTakenBack(route: Route, { target }: ResolvedCall): boolean {
  return target?.account.name === accountNameOf(route) && !isIdempotent(target.route);
}

/** Returns a row's route under the hours and checks of today's plan, while that has the agent: a resend may ring now. */
function underToday(route: Route, { target }: ResolvedCall): Route {
  if (target === undefined) return route;
  const { callingHours, checks } = target.route;
  return { ...route, callingHours, checks };
}

/** Combines the inputs of `decide`, as of now. */
export function toDecisionFacts(
  documents: ControlDocuments,
  { settings, clock, concurrency }: Pick<DialerDeps, "settings" | "clock" | "concurrency">,
): DecisionFacts {
  const { table, schedule, numbers, providerOf } = settings;
  return {
    table,
    resolver: createResolver(table, numbers.all),
    schedule,
    documents,
    canLookUp: (route) => providerOf(route).lookUp !== undefined,
    now: clock.now(),
    ahead: new Map(),
    requestsAtOnce: concurrency,
  };
}
