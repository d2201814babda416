import type { Call } from "../../../shared/calls/call.ts";
import type { CallState } from "../../../shared/calls/call-row.ts";
import { expiryOf } from "../../../shared/dial-plan/dial-plan.ts";
import { accountOf } from "../../../shared/dial-plan/routes.ts";
import type { Route } from "../../../shared/providers/index.ts";
import { type Bearing, decideByClock } from "../../../shared/schedule/decide-waiting.ts";
import { freeAt, overCap } from "../../../shared/schedule/frequency-cap.ts";
import { type AccountQueue, type AccountStart, createAccountQueue } from "./account-queue.ts";
import type { Limit } from "./forecast-schema.ts";

/** Maximum decisions of one forecast: some seconds of CPU. Only odd plans need more than a few for each call. */
const decisionsMax = 500_000;

/** A call that waits in a virtual queue. */
export interface Queued {
  call: Call;
  route: Route;
  account: string;
  backlog: string;
  dueAt: number;
  /** Time from which on it waits in its backlog. */
  since: number;
  /** Reason of the wait, like that of a row. */
  reason: string | undefined;
  /** Time for which it was decided already that the call may go. */
  decidedAt?: number | undefined;
  /** False for a row whose request was not read: it has that of a row near it, but not its number. */
  hasNumber: boolean;
  delays: readonly Delay[];
}

/** How long a rule has delayed a call. */
export interface Delay {
  limit: Limit;
  /** Place of the rule in the plan; the account, if it is a pace. */
  rule: string;
  ms: number;
}

/** What becomes of a queued call. */
export type End =
  | { kind: "dialed"; at: number }
  | { kind: "never" | "expire" | "held"; reason: string };

/** A queued call with its end and all its delays. */
export interface Ended<Item extends Queued> {
  item: Item;
  delays: readonly Delay[];
  end: End;
}

/** The working state of a queued call. */
interface Running<Item extends Queued> {
  item: Item;
  id: string;
  backlog: string;
  dueAt: number;
  since: number;
  reason: string | undefined;
  delays: Delay[];
}

/** What a decision makes of a running call: it waits on for a rule, or has its end. */
type Step = { kind: "wait"; by: Omit<Delay, "ms">; dueAt: number; reason: string } | End;

/**
 * Serves calls at the times at which the dialer would, if every request were answered at once, and returns what
 * becomes of them, in any order.
 *
 * @param caps times at which numbers were called, in milliseconds since the epoch
 * @param from time before which nothing is served
 */
export function runQueues<Item extends Queued>(
  items: readonly Item[],
  bearing: Bearing,
  caps: ReadonlyMap<string, readonly number[]>,
  from: number,
): Ended<Item>[] {
  const queues = new Map<string, AccountQueue<Running<Item>>>();
  for (const item of items) {
    const { call, account, backlog, dueAt, since, reason, delays } = item;
    const queue = queues.get(account) ?? createAccountQueue(startOf(item, bearing), from);
    queues.set(account, queue);
    queue.add({ item, id: call.id, backlog, dueAt, since, reason, delays: [...delays] });
  }
  const known = { ...bearing };
  const called = new Map(caps);
  const ended: Ended<Item>[] = [];
  for (let decisions = 1; ; decisions++) {
    const next = earliest(queues.values());
    const running = next?.queue.take();
    if (next === undefined || running === undefined) return ended;
    const { item, dueAt } = running;
    known.now = next.at;
    if (known.now > dueAt) addDelay(running.delays, paceOf(item), known.now - dueAt);
    const step = decisions > decisionsMax ? notForecast : stepOf(running, known, called);
    // A call over its cap is claimed, and asks for its permit, before its cap is known.
    if (step.kind === "dialed" || (step.kind === "wait" && step.by.limit === "caps")) {
      next.queue.usePermit();
    }
    if (step.kind === "wait") {
      addDelay(running.delays, step.by, step.dueAt - known.now);
      const { dueAt: laterAt, reason } = step;
      next.queue.add(Object.assign(running, { dueAt: laterAt, since: known.now, reason }));
    } else ended.push({ item, delays: running.delays, end: step });
    if (step.kind === "dialed" && item.hasNumber) noteCall(item, known, called);
  }
}

/** The end of calls that a forecast did not come to. */
export const notForecast = { kind: "held", reason: "not_forecast" } as const satisfies End;
const paceOf = ({ account }: Queued) => ({ limit: "pace", rule: account }) as const;

function startOf({ account, route }: Queued, { plan, documents }: Bearing): AccountStart {
  return {
    pace: accountOf(route, plan).pace,
    arrivalUs: documents.get("pace", account)?.value.arrivalUs ?? 0,
    servedLast: documents.get("account", account)?.value.servedLast ?? "",
  };
}

/** Returns the queue that serves a call first, and when. */
function earliest<Item extends Queued>(queues: Iterable<AccountQueue<Running<Item>>>) {
  let first: { queue: AccountQueue<Running<Item>>; at: number } | undefined;
  for (const queue of queues) {
    const at = queue.nextAt();
    if (at !== undefined && (first === undefined || at < first.at)) first = { queue, at };
  }
  return first;
}

/** Decides as the dialer would at `known.now`: first by the clock, and under the claim by the number's caps. */
function stepOf(
  { item, dueAt, reason, delays }: Running<Queued>,
  known: Bearing,
  called: ReadonlyMap<string, readonly number[]>,
): Step {
  const { now, plan, schedule } = known;
  const { call, route } = item;
  const isDecided = item.decidedAt === now && dueAt === now;
  const closed = isDecided ? undefined : decideByClock(call, route, now, known);
  if (closed?.state === "WAITING") {
    return { kind: "wait", by: hoursOf(closed.reason), dueAt: closed.dueAt, reason: closed.reason };
  }
  if (closed !== undefined) return endAs(closed, delays);
  const times = item.hasNumber ? called.get(call.request.phone_number) : undefined;
  if (times === undefined) return { kind: "dialed", at: now };
  const { caps } = schedule.capsOf(call.request, route);
  const free = freeAt(times, caps, now);
  if (free <= now) return { kind: "dialed", at: now };
  const rule = caps.find((cap) => freeAt(times, [cap], now) === free)?.name ?? "";
  const full = overCap(free, { now, expiresAt: expiryOf(call, plan), reason });
  return full.state === "WAITING"
    ? { kind: "wait", by: { limit: "caps", rule }, dueAt: full.dueAt, reason: full.reason }
    : endAs(full, delays);
}

/** Notes a dialed call for the caps of its number. */
function noteCall(
  { call, route }: Queued,
  { schedule, now }: Bearing,
  called: Map<string, readonly number[]>,
): void {
  const { phone_number } = call.request;
  if (!schedule.capsOf(call.request, route).isCounted) return;
  called.set(phone_number, [...(called.get(phone_number) ?? []), now]);
}

/** Returns the end of a call that is written so. A lifetime that is over is blamed on what delayed the call longest. */
export function endAs(
  { state, reason }: { state: Exclude<CallState, "WAITING">; reason: string },
  delays: readonly Delay[],
): End {
  if (state !== "EXPIRED") return { kind: "never", reason };
  const longest = longestOf(delays);
  return { kind: "expire", reason: reason === "expired" && longest ? reasonOf(longest) : reason };
}

/** Returns the rule by which a call waits, from the reason of its wait. */
export function hoursOf(reason: string): Omit<Delay, "ms"> {
  return { limit: "hours", rule: reason.slice(hoursPrefix.length) };
}

const hoursPrefix = "hours:";

/** Returns the reason that a row has while such a delay lasts. */
export function reasonOf({ limit, rule }: Omit<Delay, "ms">): string {
  if (limit === "hours") return `${hoursPrefix}${rule}`;
  return limit === "caps" ? "max_calls" : "pace";
}

/** Returns the longest delay of a call; undefined if there is none. */
export function longestOf(delays: readonly Delay[]): Delay | undefined {
  return delays.reduce<Delay | undefined>(
    (longest, one) => (longest === undefined || one.ms > longest.ms ? one : longest),
    undefined,
  );
}

function addDelay(delays: Delay[], { limit, rule }: Omit<Delay, "ms">, ms: number): void {
  const same = delays.find((one) => one.limit === limit && one.rule === rule);
  if (same === undefined) delays.push({ limit, rule, ms });
  else same.ms += ms;
}
