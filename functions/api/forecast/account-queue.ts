import { comparePlaces } from "../../../shared/ledger/call-ledger.ts";
import { grantPermits, momentOf, type Pace } from "../../../shared/schedule/pacing.ts";
import { createHeap } from "./heap.ts";

/** A call's place in the order of its backlog. */
interface Place {
  id: string;
  backlog: string;
  /** The earliest time at which the call itself may go, in milliseconds since the epoch. */
  dueAt: number;
  /** Time from which on it stands there. */
  since: number;
}

/** The state of an account that a queue begins with. */
export interface AccountStart {
  pace: Pace | undefined;
  /** The theoretical arrival time of its next request, see pacing.ts. */
  arrivalUs: number;
  /** The backlog that was served last. */
  servedLast: string;
}

/** The calls that wait for one account, in the order in which the dialer would serve them. */
export interface AccountQueue<Item extends Place> {
  add(item: Item): void;
  /** Time at which the next call is served, in milliseconds since the epoch; undefined: none waits. */
  nextAt(): number | undefined;
  /** Removes the call that is served at `nextAt()`. Its place among those called up is used. */
  take(): Item | undefined;
  /** Uses the permit of the call that was taken last: the dialer asked for it. */
  usePermit(): void;
}

/** A time after every other one whose microseconds are exact numbers. */
const endOfTime = 8e12;
/** Time ahead of their due times at which sweeps call calls up: 15 to 75 s. */
const calledUpAheadMs = 45_000;

/**
 * Creates the queue of an account. Calls are served when they are due, in the pace of the account, round robin over
 * its backlogs. A call that is added again waits like any other.
 *
 * @param from time before which nothing is served, in milliseconds since the epoch
 */
export function createAccountQueue<Item extends Place>(
  { pace, arrivalUs: arrivalAtStart, servedLast }: AccountStart,
  from: number,
): AccountQueue<Item> {
  const later = createHeap<Item>(comparePlaces);
  const due = createTurns<Item>(servedLast);
  /** Times at which the account may be sent its next request, and up to which its calls are called up. */
  let permits = { arrivalUs: arrivalAtStart, at: from };
  let calledUp = permits;
  let taken = permits;
  let now = from;

  /** The result of `next` while nothing has changed. */
  let known: Served | undefined;
  const next = (): Served | undefined => {
    const first = due.first() ?? later.first();
    if (first === undefined) return undefined;
    const notBefore = Math.max(now, first.dueAt);
    if (pace === undefined) return { at: notBefore, permit: permits, place: calledUp };
    const permit = granted(permits.arrivalUs, pace, notBefore);
    // A call is called up ahead of its due time, unless it has waited since.
    const isLate = now - first.dueAt > calledUpAheadMs;
    const ahead = isLate ? now : Math.max(first.since, first.dueAt - calledUpAheadMs);
    const place = granted(calledUp.arrivalUs, pace, ahead);
    return { at: Math.max(notBefore, permit.at, place.at), permit, place };
  };

  return {
    add(item) {
      later.add(item);
      known = undefined;
    },
    nextAt() {
      known ??= next();
      return known?.at;
    },
    take() {
      const served = known ?? next();
      if (served === undefined) return undefined;
      known = undefined;
      now = served.at;
      calledUp = served.place;
      taken = served.permit;
      // Without a pace nothing has to be shared: calls go as they come.
      if (pace === undefined) return later.take();
      for (
        let item = later.first();
        item !== undefined && item.dueAt <= now;
        item = later.first()
      ) {
        later.take();
        due.add(item);
      }
      return due.take();
    },
    usePermit() {
      permits = taken;
      known = undefined;
    },
  };
}

/** A time in the pace, and the arrival time after it. */
interface Granted {
  arrivalUs: number;
  at: number;
}

/** The next call's time, its permit, and its place among those called up. */
interface Served {
  at: number;
  permit: Granted;
  place: Granted;
}

function granted(arrivalUs: number, pace: Pace, notBefore: number): Granted {
  const all = grantPermits(arrivalUs, pace, 1, { notBefore, notAfter: endOfTime });
  return { arrivalUs: all.arrivalUs, at: momentOf(all.baseUs, 0, pace, notBefore) };
}

/** Calls that are due, by backlog, taken from one backlog after the other in the order of their keys. */
function createTurns<Item extends Place>(servedAtStart: string) {
  /** The backlogs in which calls wait, and how many were taken from each. */
  const backlogs = new Map<string, { items: Item[]; taken: number }>();
  const keys: string[] = [];
  let servedLast = servedAtStart;
  const turn = () => countUpTo(keys, servedLast) % Math.max(1, keys.length);
  return {
    first: (): Item | undefined => {
      const backlog = backlogs.get(keys[turn()] ?? "");
      return backlog?.items[backlog.taken];
    },
    add(item: Item) {
      const backlog = backlogs.get(item.backlog);
      if (backlog !== undefined) {
        backlog.items.push(item);
        return;
      }
      backlogs.set(item.backlog, { items: [item], taken: 0 });
      keys.splice(countUpTo(keys, item.backlog), 0, item.backlog);
    },
    take(): Item | undefined {
      const place = turn();
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
