import type { DuePlace } from "../ledger/call-ledger.ts";
import { momentOf, type Pace } from "./pacing.ts";

/** A call's place in its backlog. `dueAt`: the earliest time at which the call itself may go. */
export interface Place extends DuePlace {
  backlog: string;
}

/** The state of an account that a queue begins with. */
export interface AccountStart {
  pace: Pace | undefined;
  /** The theoretical arrival time of its next request, see pacing.ts. */
  arrivalUs: number;
  /** The backlog that was served last. */
  servedLast: string;
}

/** Calls that wait for an account, in the order of their places. */
export interface WaitingInOrder<Item> {
  first(): Item | undefined;
  /** Removes the first call. */
  removeFirst(): void;
}

/** The calls that wait for one account, in the order in which they are served. */
export interface AccountQueue<Item extends Place> {
  /** Time at which the next call is served, in milliseconds since the epoch; undefined: none waits. */
  nextAt(): number | undefined;
  /** Removes the call that is served at `nextAt()`, and uses its place in the pace. */
  take(): Item | undefined;
  /** Lets the turns go on after another backlog. */
  turnAfter(backlog: string): void;
  /** The theoretical arrival time after the calls taken so far. */
  arrivalUs(): number;
}

const unpaced: Pace = { intervalUs: 0, burst: 1 };

/**
 * Creates the queue of an account. Calls are served when they are due, in the pace of the account, round robin over
 * its backlogs. Sweeps and writers call rows up in this order, and forecasts serve calls in it.
 *
 * @param from time before which nothing is served, in milliseconds since the epoch
 * @param later the calls, to which others may be added
 */
export function createAccountQueue<Item extends Place>(
  { pace = unpaced, arrivalUs, servedLast }: AccountStart,
  from: number,
  later: WaitingInOrder<Item>,
): AccountQueue<Item> {
  /** The calls that are due, by backlog, and how many of them were taken. */
  const due = new Map<string, { items: Item[]; taken: number }>();
  /** The backlogs in order. Calls of one request may be of as many backlogs, so that they are never sorted anew. */
  const keys: string[] = [];
  let served = { at: from, arrivalUs };
  let last = servedLast;
  const next = (): typeof served | undefined => {
    const dueAt = due.size > 0 ? served.at : later.first()?.dueAt;
    if (dueAt === undefined) return undefined;
    const notBefore = Math.max(served.at, dueAt);
    const baseUs = Math.max(served.arrivalUs, notBefore * 1000);
    return { at: momentOf(baseUs, 0, pace, notBefore), arrivalUs: baseUs + pace.intervalUs };
  };
  return {
    nextAt: () => next()?.at,
    take() {
      served = next() ?? served;
      for (let item = later.first(); item !== undefined; item = later.first()) {
        if (item.dueAt > served.at) break;
        later.removeFirst();
        const backlog = due.get(item.backlog);
        if (backlog === undefined) {
          due.set(item.backlog, { items: [item], taken: 0 });
          keys.splice(countUpTo(keys, item.backlog), 0, item.backlog);
        } else backlog.items.push(item);
      }
      const turn = countUpTo(keys, last) % Math.max(1, keys.length);
      last = keys[turn] ?? "";
      const backlog = due.get(last);
      if (backlog === undefined) return undefined;
      const item = backlog.items[backlog.taken];
      backlog.taken += 1;
      if (backlog.taken === backlog.items.length) {
        due.delete(last);
        keys.splice(turn, 1);
      }
      return item;
    },
    turnAfter: (backlog) => void (last = backlog),
    arrivalUs: () => served.arrivalUs,
  };
}

/** Returns how many of the sorted keys are not greater than `key`. */
function countUpTo(keys: readonly string[], key: string): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] ?? "") <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}
