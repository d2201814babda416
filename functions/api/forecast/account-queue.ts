import { comparePlaces } from "../../../shared/ledger/call-ledger.ts";
import { grantPermits, momentsOf, type Pace } from "../../../shared/schedule/pacing.ts";
import { createHeap } from "./heap.ts";

/** A call's place in the order of its backlog. */
interface Place {
  id: string;
  backlog: string;
  /** The earliest time at which the call itself may go, in milliseconds since the epoch. */
  dueAt: number;
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
  /** Removes the call that is served at `nextAt()`. Its place in the pace is used up. */
  take(): Item | undefined;
}

/** A time after every other one whose microseconds are exact numbers. */
const endOfTime = 8e12;

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
  let arrivalUs = arrivalAtStart;
  let now = from;

  const grant = () => {
    const first = due.isEmpty() ? later.first() : undefined;
    if (due.isEmpty() && first === undefined) return undefined;
    const notBefore = Math.max(now, first?.dueAt ?? now);
    if (pace === undefined) return { at: notBefore, arrivalUs };
    const granted = grantPermits(arrivalUs, pace, 1, { notBefore, notAfter: endOfTime });
    const [at = notBefore] = momentsOf(granted.baseUs, 1, pace, notBefore);
    return { at, arrivalUs: granted.arrivalUs };
  };

  return {
    add: (item) => later.add(item),
    nextAt: () => grant()?.at,
    take() {
      const granted = grant();
      if (granted === undefined) return undefined;
      now = granted.at;
      arrivalUs = granted.arrivalUs;
      for (
        let item = later.first();
        item !== undefined && item.dueAt <= now;
        item = later.first()
      ) {
        later.take();
        // Without a pace nothing has to be shared: calls go as they come.
        due.add(item, pace === undefined ? "" : item.backlog);
      }
      return due.take();
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
    add(item: Item, of: string) {
      const backlog = backlogs.get(of);
      if (backlog !== undefined) {
        backlog.items.push(item);
        return;
      }
      backlogs.set(of, { items: [item], taken: 0 });
      keys.splice(countUpTo(keys, of), 0, of);
    },
    take(): Item | undefined {
      const turn = countUpTo(keys, servedLast) % Math.max(1, keys.length);
      const key = keys[turn] ?? "";
      const backlog = backlogs.get(key);
      const item = backlog?.items[backlog.taken];
      if (backlog === undefined || item === undefined) return undefined;
      servedLast = key;
      backlog.taken += 1;
      if (backlog.taken === backlog.items.length) {
        backlogs.delete(key);
        keys.splice(turn, 1);
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
