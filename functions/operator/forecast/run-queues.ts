import type { CallState } from "#shared/calls/states.ts";
import { divideReason } from "#shared/calls/reasons.ts";
import { byTime, expired, simulatedNumbers } from "#shared/rules/gates.ts";
import { type Facts, findVerdict } from "#shared/rules/rule.ts";
import { giveWay, sliceItems } from "#shared/lib/slices.ts";
import type { Pace } from "#shared/telephony/rate.ts";
import { type AccountQueue, createAccountQueue } from "./account-queue.ts";
import type { Delay, End, Ended, Queued } from "./queued.ts";

/** Maximum decisions of one forecast: some seconds of CPU. Only unusual plans need more than a few per call. */
const decisionsMax = 500_000;

/** Result of serving a call: a further wait for a rule, or the call's end. */
type Step = { kind: "wait"; rule: string; dueAt: number; reason: string } | End;

/**
 * Serves calls at the times at which the dialer would if each account went on as it was seen to. Returns them with their
 * ends, in any order.
 *
 * @param items the calls, which the queues then change
 * @param start.caps times at which numbers were called, in milliseconds since the epoch
 * @param start.from time before which nothing is served
 * @param start.seenPaces paces at which accounts were seen to take calls, where slower than the plan's
 */
export async function runQueues(
  items: readonly Queued[],
  {
    caps,
    from,
    seenPaces,
  }: {
    caps: ReadonlyMap<string, readonly number[]>;
    from: number;
    seenPaces: ReadonlyMap<string, Pace>;
  },
  inputs: Facts,
): Promise<Ended[]> {
  const queues = [...Map.groupBy(items, (item) => item.account)].map(([account, own]) => {
    const seenPace = seenPaces.get(account);
    return createAccountQueue(account, { items: own, from, seenPace }, inputs);
  });
  const known = { ...inputs };
  const numbers = simulatedNumbers(caps, inputs);
  const ended: Ended[] = [];
  for (let decisions = 1; ; decisions++) {
    if (decisions % sliceItems === 0) await giveWay();
    const next = earliest(queues);
    const item = next?.queue.take();
    if (next === undefined || item === undefined) return ended;
    known.now = next.at;
    if (known.now > item.dueAt)
      addDelay(item, {
        reason: next.queue.limit(),
        rule: item.account,
        ms: known.now - item.dueAt,
      });
    const closed = decisions > decisionsMax ? notForecast : stepByClock(item, known);
    if (closed !== undefined) next.queue.release();
    const step = closed ?? stepUnderCaps(item, known, numbers);
    if (step.kind === "wait") {
      const { rule, dueAt, reason } = step;
      addDelay(item, { reason, rule, ms: dueAt - known.now });
      item.dueAt = dueAt;
      item.reason = reason;
      next.queue.add(item);
    } else item.end = step;
    if (isEnded(item)) ended.push(item);
    if (step.kind !== "dialed") continue;
    next.queue.dial();
    if (item.hasNumber) numbers.count({ ...item.resolved, target: item.target }, known.now);
  }
}

function isEnded(item: Queued): item is Ended {
  return item.end !== undefined;
}

/** The end of calls that the forecast did not reach. */
export const notForecast = { kind: "blocked", reason: "not_forecast" } as const satisfies End;

/** Returns the queue that serves the next call, and the time. */
function earliest(queues: readonly AccountQueue[]) {
  let first: { queue: AccountQueue; at: number } | undefined;
  for (const queue of queues) {
    const at = queue.nextAt();
    if (at !== undefined && (first === undefined || at < first.at)) first = { queue, at };
  }
  return first;
}

/** Decides as the dispatcher would at `known.now`, by time alone. Undefined: the call may go. */
function stepByClock(item: Queued, known: Facts): Step | undefined {
  const { now } = known;
  const { resolved, dueAt, decidedAt, delays } = item;
  if (decidedAt === now && dueAt === now) return undefined;
  const closed = findVerdict(byTime, resolved, { at: now, schedule: known.schedule });
  if (closed?.kind === "end") return toEnd(closed, delays);
  if (closed?.kind !== "later") return undefined;
  const { reason, at } = closed;
  return { kind: "wait", rule: divideReason(reason).name, dueAt: at, reason };
}

/** Decides as the dialer would under the claim at `known.now`, by the caps of the number. */
function stepUnderCaps(
  { resolved, target, hasNumber, reason, delays }: Queued,
  { now }: Pick<Facts, "now">,
  numbers: ReturnType<typeof simulatedNumbers>,
): Step {
  const full = hasNumber ? numbers.judge({ ...resolved, target }, { reason, now }) : undefined;
  if (full === undefined) return { kind: "dialed", at: now };
  const { verdict, name } = full;
  return verdict.kind === "later"
    ? { kind: "wait", rule: name, dueAt: verdict.at, reason: verdict.reason }
    : toEnd(verdict, delays);
}

/** Returns the end of a call by its final state. An expiry is blamed on the call's longest delay. */
export function toEnd(
  { state, reason }: { state: Exclude<CallState, "WAITING">; reason: string },
  delays: readonly Delay[],
): End {
  if (state !== "EXPIRED") return { kind: "rejected", reason };
  const longest = longestOf(delays);
  return { kind: "expire", reason: reason === expired && longest ? longest.reason : reason };
}

/** Returns the longest delay of a call; undefined if there is none. */
export function longestOf(delays: readonly Delay[]): Delay | undefined {
  return delays.reduce<Delay | undefined>(
    (longest, one) => (longest === undefined || one.ms > longest.ms ? one : longest),
    undefined,
  );
}

/** Adds to the delay of a call by a rule. */
export function addDelay(item: Queued, { reason, rule, ms }: Delay): void {
  const { delays } = item;
  if (delays.length === 0) {
    item.delays = [{ reason, rule, ms }];
    return;
  }
  const same = delays.find((one) => one.reason === reason && one.rule === rule);
  const others = same === undefined ? delays : delays.filter((one) => one !== same);
  item.delays = [...others, { reason, rule, ms: ms + (same?.ms ?? 0) }];
}
