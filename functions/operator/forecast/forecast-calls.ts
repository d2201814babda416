import type { CallRequest } from "#shared/calls/call-request.ts";
import { chooseArm, findSplit } from "#shared/dial-plan/splits.ts";
import { roundKeyOf } from "#shared/policy/split-rounds.ts";
import { toCallId, createRequestId, clientNamed } from "#shared/calls/ids.ts";
import { divideReason } from "#shared/calls/reasons.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import type { RouteTable } from "#shared/dial-plan/route-table.ts";
import { mapInSlices } from "#shared/lib/slices.ts";
import {
  createResolver,
  type ResolvedCall,
  type ResolvedRoute,
  type Resolver,
} from "#shared/rules/resolved-call.ts";
import { createHolders, type HolderOf } from "./holders.ts";
import type { ControlsRead } from "./read-controls.ts";
import { messageCallsMax } from "#shared/ports/call-messages.ts";
import { byTime, delivery, ends, endsUnknown } from "#shared/rules/gates.ts";
import { type Facts, findVerdict, type Holder, pass, unbounded } from "#shared/rules/rule.ts";
import { createJudge, type readCallAt } from "#functions/api/calls/call-errors.ts";
import type { ProblemError } from "#functions/api/http/problem.ts";
import type { WaitingCall } from "./read-backlogs.ts";
import type { Delay, End, Ended, PlanWithSchedule, Queued } from "./queued.ts";
import { addDelay, toEnd, notForecast, runQueues } from "./run-queues.ts";

/** The calls as posted, and by whom. */
export interface Posted {
  calls: readonly ReturnType<typeof readCallAt>[];
  client: string;
  /** Agents of the client's tokens. */
  agents: string[];
  /** Time at which the calls are posted; milliseconds since the epoch. */
  at: number;
}

/** The end of a call in a forecast. `account` is null if the plan has no route for the agent. */
export interface Forecasted {
  end: End | { kind: "refused"; errors: ProblemError[] };
  account: string | null;
  /** Backlog of the call. Absent: it enters none. */
  backlog?: string;
  delays: readonly Delay[];
  isUnread: boolean;
}

/** The ends of the posted calls, in their order, and of the calls that wait already. */
export interface ForecastedCalls {
  table: RouteTable;
  posted: Forecasted[];
  waiting: Forecasted[];
}

/** Facts of a forecast beside the calls and the plan. Times are milliseconds since the epoch. */
interface Inputs {
  read: ControlsRead;
  now: number;
  /** Time before which nothing is dialed. Absent: now. */
  from?: number;
  armsKeyOf: (split: string) => string;
}

/**
 * Forecasts calls under a plan: first by the checks of acceptance, then by the dialer's decisions, in queues together
 * with the calls that wait already. Gives way to other requests, as ten thousand calls take seconds.
 *
 */
export async function forecastCalls(
  posted: Posted,
  { plan, table, schedule }: PlanWithSchedule,
  { read, now, from = now, armsKeyOf }: Inputs,
): Promise<ForecastedCalls> {
  const { documents, hashes } = read;
  const hashesOf = (number: string) => hashes.get(number);
  const resolver = createResolver(table, hashesOf);
  const of = { table, schedule, documents, now, at: now };
  const known: Facts = { ...of, ...unbounded };
  const at: AtPosting = {
    ...known,
    resolver,
    now: posted.at,
    at: posted.at,
    holderOf: createHolders(documents, now),
    plan,
    armsKeyOf,
    agents: read.agents,
  };
  const fresh = await postedCalls(posted, at);
  const waiting = await mapInSlices(read.waiting, (row, index) =>
    waitingCall(row, posted.calls.length + index, { ...at, now, at: now }),
  );
  if (posted.at === now && fresh.length <= messageCallsMax) goAtOnce(fresh.filter(isQueued), known);
  const queued = [...fresh, ...waiting].flatMap((one) => (isQueued(one) ? one : []));
  const ended: Ended[] = [];
  const { caps, seenPaces } = read;
  for (const one of await runQueues(queued, { caps, seenPaces, from }, known))
    ended[one.index] = one;
  const endedOf = (one: Queued | Forecasted) =>
    isQueued(one) ? (ended[one.index] ?? { ...one, end: notForecast }) : one;
  return { table, posted: fresh.map(endedOf), waiting: waiting.map(endedOf) };
}

/** Marks the calls that the delivery of their message would dial at once, by the dialers' rules. */
function goAtOnce(fresh: readonly Queued[], known: Facts): void {
  const ahead = new Map<string, number>();
  for (const item of fresh) {
    if (item.dueAt > known.now) continue;
    if (pass(delivery, item.resolved, { ...known, ahead }).kind !== "passed") continue;
    item.isAtOnce = true;
    ahead.set(item.account, (ahead.get(item.account) ?? 0) + 1);
  }
}

/** Everything known about calls when they are posted. */
interface AtPosting extends Facts {
  resolver: Resolver;
  holderOf: HolderOf;
  plan: DialPlan;
  armsKeyOf: Inputs["armsKeyOf"];
  /** Agents whose pauses and breakers were read. */
  agents: ReadonlySet<string>;
}

function isQueued(one: Queued | Forecasted): one is Queued {
  return one.end === undefined;
}

/**
 * Makes a call wait for the end of its holder.
 *
 * @returns the end of a call at whose holder has no known end
 */
function holdBack(item: Queued, holder: Holder | undefined, now: number): End | undefined {
  if (holder === undefined) return undefined;
  const { reason, name, until } = holder;
  if (until === null) return { kind: "blocked", reason };
  const from = Math.max(item.dueAt, now);
  if (until <= from) return undefined;
  addDelay(item, { reason, rule: name, ms: until - from });
  item.dueAt = until;
  return undefined;
}

/** Returns the posted calls that enter queues, and the ends of those that enter none. */
function postedCalls(
  { calls, client, agents, at }: Posted,
  known: AtPosting,
): Promise<(Queued | Forecasted)[]> {
  const { mode } = clientNamed(client);
  const judge = createJudge({ client, mode, agents, at }, known);
  const requestId = createRequestId(at, "f".repeat(32)); // after every real id of this millisecond
  return mapInSlices(calls, (one, index) => {
    if ("errors" in one) return refused(one.errors);
    const request = toArm(one.request, known);
    const { agent_id: agentId } = request;
    const target = known.resolver.find({ client, mode, agentId });
    const errors = judge(one.request);
    if (errors.length > 0 || target === undefined) {
      return refused(errors.map(({ field, detail }) => ({ pointer: `/${index}${field}`, detail })));
    }
    const id = toCallId(requestId, index);
    const ofBatch = { requestId, batchCalls: calls.length, client, mode, acceptedAt: at };
    const call = { id, ...ofBatch, request };
    return freshCall(known.resolver.resolve(call, undefined), { target, index }, known);
  });
}

/** Returns a call with the agent that would make it: of a split, the arm of the callee in the round that is under way. */
function toArm(request: CallRequest, { plan, documents, armsKeyOf }: AtPosting): CallRequest {
  const { agent_id: name, phone_number: phoneNumber } = request;
  const split = findSplit(name, plan);
  if (split === undefined) return request;
  const { kind, key } = roundKeyOf(name);
  const armsKey = documents.get(kind, key)?.value.key ?? armsKeyOf(name);
  return { ...request, agent_id: chooseArm({ name, phoneNumber }, split.arms, armsKey) };
}

/**
 * Decides a call as the dialer does at its arrival. Acceptance has excluded all reasons to end it at once except the
 * do-not-call list.
 */
function freshCall(
  resolved: ResolvedCall,
  { index, target }: { index: number; target: ResolvedRoute },
  known: AtPosting,
): Queued | Forecasted {
  const { now, agents, holderOf } = known;
  const { call, of, backlog, hashes } = resolved;
  const { agentId } = of;
  const account = target.account.name;
  const isUnread = hashes === undefined || !agents.has(agentId);
  const ended = (end: End): Forecasted => ({ end, account, delays: none, isUnread });
  const listed = findVerdict(endsUnknown, resolved, known);
  if (listed?.kind === "end") return ended(toEnd(listed, none));
  const closed = findVerdict(byTime, resolved, known);
  if (closed?.kind === "end") return ended(toEnd(closed, none));
  const dueAt = closed?.kind === "later" ? closed.at : now;
  const queued: Queued = {
    id: call.id,
    resolved,
    index,
    target,
    account,
    backlog,
    dueAt,
    reason: closed?.reason,
    decidedAt: now,
    isAtOnce: false,
    hasNumber: true,
    isUnread,
    delays: none,
    end: undefined,
  };
  if (closed !== undefined) {
    const { reason } = closed;
    addDelay(queued, { reason, rule: divideReason(reason).name, ms: dueAt - now });
  }
  const blocked = holdBack(queued, holderOf(of, target), now);
  return blocked === undefined ? queued : ended(blocked);
}

/** Returns a waiting call as an entry of its queue, or the end of a call that enters none. */
function waitingCall(
  { call, backlog, dueAt, reason, hasNumber }: WaitingCall,
  index: number,
  known: AtPosting,
): Queued | Forecasted {
  const resolved = known.resolver.resolve(call, undefined);
  const { target } = resolved;
  const account = target?.account.name ?? null;
  const isUnread = false;
  const ended = (end: End): Forecasted => ({ end, account, delays: none, isUnread });
  const over = findVerdict(ends, resolved, known);
  if (over?.kind === "end") return ended(toEnd(over, none));
  if (target === undefined || account === null)
    return ended({ kind: "blocked", reason: "route_gone" });
  const of = { id: call.id, resolved, index, target, account, backlog, dueAt, reason, hasNumber };
  const fresh = { isAtOnce: false, decidedAt: undefined, isUnread, delays: none, end: undefined };
  const queued: Queued = { ...of, ...fresh };
  const holder = known.holderOf(resolved.of, target);
  const blocked = holdBack(queued, holder, known.now);
  return blocked === undefined ? queued : ended(blocked);
}

const none: readonly Delay[] = [];

function refused(errors: ProblemError[]): Forecasted {
  return { end: { kind: "refused", errors }, account: null, delays: none, isUnread: false };
}
