import { comparePlaces, type DuePlace } from "../ledger/call-ledger.ts";
import { momentOf, type Pace } from "./pacing.ts";

/** A call's place in its backlog. `dueAt`: the earliest time at which the call itself may go. */
interface Place extends DuePlace {
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

/** The calls that wait for one account, in the order in which they are served. */
export interface AccountQueue<Item extends Place> {
  add(item: Item): void;
  /** Time at which the next call is served, in milliseconds since the epoch; undefined: none waits. */
  nextAt(): number | undefined;
  /** Removes the call that is served at `nextAt()`, and uses its place in the pace. */
  take(): Item | undefined;
  /** The theoretical arrival time after the calls taken so far. */
  arrivalUs(): number;
}

const unpaced: Pace = { intervalUs: 0, burst: 1 };

/**
 * Creates the queue of an account. Calls are served when they are due, in the pace of the account, round robin over
 * its backlogs. Sweeps and writers call rows up in this order, and forecasts serve calls in it.
 *
 * @param from time before which nothing is served, in milliseconds since the epoch
 */
export function createAccountQueue<Item extends Place>(
  { pace = unpaced, arrivalUs: arrivalAtStart, servedLast }: AccountStart,
  from: number,
): AccountQueue<Item> {
  const later = createSortedList<Item>();
  const due = createTurns<Item>(servedLast);
  let arrivalUs = arrivalAtStart;
  let now = from;
  /** Earliest time of the next call, but for the pace. */
  const notBefore = () => {
    if (!due.isEmpty()) return now;
    const first = later.first();
    return first && Math.max(now, first.dueAt);
  };
  return {
    add: later.add,
    nextAt() {
      const at = notBefore();
      return at === undefined ? undefined : momentOf(Math.max(arrivalUs, at * 1000), 0, pace, at);
    },
    take() {
      const at = notBefore();
      if (at === undefined) return undefined;
      const baseUs = Math.max(arrivalUs, at * 1000);
      arrivalUs = baseUs + pace.intervalUs;
      now = momentOf(baseUs, 0, pace, at);
      for (;;) {
        const item = later.first();
        if (item === undefined || item.dueAt > now) return due.take();
        later.takeFirst();
        due.add(item);
      }
    },
    arrivalUs: () => arrivalUs,
  };
}

/** Creates a list of calls in the order of their places. Calls that are added in order, as most are, cost least. */
function createSortedList<Item extends Place>() {
  let items: Item[] = [];
  let taken = 0;
  return {
    first: (): Item | undefined => items[taken],
    takeFirst() {
      taken += 1;
      if (taken === items.length) [items, taken] = [[], 0];
    },
    add(item: Item) {
      const last = items.at(-1);
      if (last === undefined || comparePlaces(last, item) <= 0) items.push(item);
      else items.splice(countUpTo(items, item, comparePlaces, taken), 0, item);
    },
  };
}

/** Calls that are due, by backlog, taken from one backlog after the other in the order of their keys. */
function createTurns<Item extends Place>(servedAtStart: string) {
  /** The backlogs in which calls wait, and how many were taken from each. */
  const backlogs = new Map<string, { items: Item[]; taken: number }>();
  const keys: string[] = [];
  let servedLast = servedAtStart;
  return {
    isEmpty: () => keys.length === 0,
    add(item: Item) {
      const backlog = backlogs.get(item.backlog);
      if (backlog !== undefined) {
        backlog.items.push(item);
        return;
      }
      backlogs.set(item.backlog, { items: [item], taken: 0 });
      keys.splice(countUpTo(keys, item.backlog, compareKeys), 0, item.backlog);
    },
    take(): Item | undefined {
      const place = countUpTo(keys, servedLast, compareKeys) % Math.max(1, keys.length);
      const key = keys[place] ?? "";
      const backlog = backlogs.get(key);
      const item = backlog?.items[backlog.taken];
      if (backlog === undefined || item === undefined) return undefined;
      servedLast = key;
      backlog.taken += 1;
      if (backlog.taken === backlog.items.length) {
        backlogs.delete(key);
        keys.splice(place, 1);
      }
      return item;
    },
  };
}

const compareKeys = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

/** Returns the index of the first of the sorted items, from `low` on, that comes after `item`. */
function countUpTo<One>(
  items: readonly One[],
  item: One,
  compare: (one: One, other: One) => number,
  low = 0,
): number {
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const one = items[middle];
    if (one !== undefined && compare(one, item) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
