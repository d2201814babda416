import type { Call } from "../../../shared/calls/call.ts";
import { backlogOf } from "../../../shared/calls/call-row.ts";
import { callIdOf, createRequestId } from "../../../shared/calls/ids.ts";
import type { DialPlan } from "../../../shared/dial-plan/plan-schema.ts";
import { routeOf } from "../../../shared/dial-plan/routes.ts";
import { openBreakers } from "../../../shared/documents/breakers.ts";
import type { DocumentsRead } from "../../../shared/documents/documents.ts";
import { isPaused } from "../../../shared/documents/orders.ts";
import { isHeld } from "../../../shared/documents/restore.ts";
import { accountNameOf, type Route } from "../../../shared/providers/index.ts";
import { type Bearing, decideByClock, endOf } from "../../../shared/schedule/decide-waiting.ts";
import { planErrors, type readCallAt } from "../calls/call-errors.ts";
import type { ProblemError } from "../problem.ts";
import type { WaitingCall } from "./read-backlogs.ts";
import type { BearingRead, PlanWithSchedule } from "./read-bearing.ts";
import {
  type Delay,
  type End,
  type Ended,
  endAs,
  hoursOf,
  notForecast,
  type Queued,
  runQueues,
} from "./run-queues.ts";

/** The calls as posted, and by whom. */
export interface Posted {
  calls: readonly ReturnType<typeof readCallAt>[];
  client: string;
  /** Agents of the client's tokens. */
  agents: string[];
  /** Time at which the calls are posted; milliseconds since the epoch. */
  at: number;
}

/** What becomes of a call. `account` is null where the plan has no route for its agent. */
export interface Forecasted {
  end: End | { kind: "refused"; errors: ProblemError[] };
  account: string | null;
  delays: readonly Delay[];
  isUnread: boolean;
}

/** What becomes of posted calls, in their order, and of those that wait already. */
export interface ForecastedCalls {
  plan: DialPlan;
  posted: Forecasted[];
  waiting: Forecasted[];
}

/** A call in a queue. `index` counts the posted calls, and after them those that wait already. */
type QueuedHere = Queued & { index: number };

/** Returns why calls of an agent along a route wait until somebody acts; undefined if nothing holds them. */
type HeldBy = (agent: string, route: Route) => string | undefined;

/**
 * Returns what would become of calls under a plan: by the checks of acceptance first, then by the decisions of the
 * dialer, in queues together with the calls that wait today.
 *
 * @param now time before which nothing is dialed, in milliseconds since the epoch
 */
export function forecastCalls(
  posted: Posted,
  { plan, schedule }: PlanWithSchedule,
  read: BearingRead,
  { hashKey, now }: { hashKey: string; now: number },
): ForecastedCalls {
  const { documents, hashes } = read;
  const hashOf = (number: string) => hashes.get(number);
  const known: Bearing = { plan, schedule, hashKey, documents, hashOf, now, ahead: new Map() };
  const heldBy = holdsIn(documents);
  const fresh = postedCalls(posted, { ...known, now: posted.at }, heldBy);
  const waiting = read.waiting.map((row, index) =>
    waitingCall(row, posted.calls.length + index, known, heldBy),
  );
  const queued = [...fresh, ...waiting].flatMap((one) => ("end" in one ? [] : one));
  const ended: Ended<QueuedHere>[] = [];
  for (const one of runQueues(queued, known, read.caps, now)) ended[one.item.index] = one;
  const isUnread = ({ request }: Call) =>
    !hashes.has(request.phone_number) || !read.agents.has(request.agent_id);
  const forecasted = (one: QueuedHere | Forecasted): Forecasted => {
    if ("end" in one) return one;
    const { end, delays } = ended[one.index] ?? { end: notForecast, delays: [] };
    return { end, account: one.account, delays, isUnread: isUnread(one.call) };
  };
  return { plan, posted: fresh.map(forecasted), waiting: waiting.map(forecasted) };
}

/** Returns a function that says what holds an agent's calls, which it looks for once. */
function holdsIn(documents: DocumentsRead): HeldBy {
  const isRestored = isHeld(documents, 0);
  const known = new Map<string, string | undefined>();
  const look = (agent: string, route: Route) => {
    if (isPaused(agent, route, documents)) return "paused";
    return openBreakers(agent, route, documents).length > 0 ? "breaker_open" : undefined;
  };
  return (agent, route) => {
    if (isRestored) return "restored";
    if (!known.has(agent)) known.set(agent, look(agent, route));
    return known.get(agent);
  };
}

/** Returns the posted calls as they enter their queues, and the ends of those that enter none. */
function postedCalls(
  { calls, client, agents, at }: Posted,
  known: Bearing,
  heldBy: HeldBy,
): (QueuedHere | Forecasted)[] {
  const requestId = createRequestId(at, "f".repeat(32)); // after every real id of this millisecond
  const made = { requestId, batchCalls: calls.length, client, acceptedAt: at };
  return calls.map((one, index) => {
    if ("errors" in one) return refused(one.errors);
    const { request } = one;
    const route = routeOf(request.agent_id, known.plan);
    const errors = planErrors(request, known, { agents }, at);
    if (errors.length > 0 || route === undefined) {
      return refused(errors.map(({ field, detail }) => ({ pointer: `/${index}${field}`, detail })));
    }
    return freshCall(
      { ...made, id: callIdOf(requestId, index), request },
      index,
      route,
      known,
      heldBy,
    );
  });
}

/** Decides a call as the dialer does when it arrives. */
function freshCall(
  call: Call,
  index: number,
  route: Route,
  known: Bearing,
  heldBy: HeldBy,
): QueuedHere | Forecasted {
  const { now } = known;
  const account = accountNameOf(route);
  const { agent_id: agentId } = call.request;
  const ended = (end: End) => ({ end, account, delays: [], isUnread: false });
  const decided = endOf(call, now, known) ?? decideByClock(call, route, now, known);
  if (decided !== undefined && decided.state !== "WAITING") return ended(endAs(decided, []));
  const because = heldBy(agentId, route);
  if (because !== undefined) return ended({ kind: "held", reason: because });
  const backlog = backlogOf({ client: call.client, agentId });
  const queued = { index, call, route, account, backlog, since: now, hasNumber: true };
  if (decided === undefined) {
    return { ...queued, dueAt: now, decidedAt: now, reason: undefined, delays: [] };
  }
  const { dueAt, reason } = decided;
  return { ...queued, dueAt, reason, delays: [{ ...hoursOf(reason), ms: dueAt - now }] };
}

/** Returns a call that waits already as it stands in its queue, or the end of one that stands in none. */
function waitingCall(
  { call, backlog, dueAt, reason, hasNumber }: WaitingCall,
  index: number,
  known: Bearing,
  heldBy: HeldBy,
): QueuedHere | Forecasted {
  const { agent_id: agentId } = call.request;
  const route = routeOf(agentId, known.plan);
  const account = route === undefined ? null : accountNameOf(route);
  const ended = (end: End) => ({ end, account, delays: [], isUnread: false });
  const over = endOf(call, known.now, known);
  if (over !== undefined && over.state !== "WAITING") return ended(endAs(over, []));
  if (route === undefined || account === null) return ended({ kind: "held", reason: "route_gone" });
  const because = heldBy(agentId, route);
  if (because !== undefined) return ended({ kind: "held", reason: because });
  return { index, call, route, account, backlog, dueAt, since: 0, reason, hasNumber, delays: [] };
}

function refused(errors: ProblemError[]): Forecasted {
  return { end: { kind: "refused", errors }, account: null, delays: [], isUnread: false };
}
