import { findServedAt } from "#shared/policy/dispatcher.ts";
import { comparePositions } from "#shared/ports/ledger.ts";
import type { ResolvedAccount } from "#shared/dial-plan/route-table.ts";
import type { Facts } from "#shared/rules/rule.ts";
import type { Pace } from "#shared/telephony/rate.ts";
import { copyServed, createTurns } from "#shared/policy/turns.ts";
import type { Queued } from "./queued.ts";
import { simulated, simulatedPermits } from "#shared/rules/gates.ts";

/** The calls of a forecast that wait for one account, in the order in which they are served. */
export interface AccountQueue {
  add(item: Queued): void;
  /** Time at which the next call is served, in milliseconds since the epoch; undefined if none waits. */
  nextAt(): number | undefined;
  /** The limit for which the last taken call waited, if it waited for its account. */
  limit(): string;
  /** Removes and returns the call that is served at `nextAt()`, and uses up its turn and permit. */
  take(): Queued | undefined;
  /** Returns turn and permit of the last taken call, as dispatchers do not dispatch calls outside their hours. */
  release(): void;
  /** Records that the last taken call is dialed and therefore live. */
  dial(): void;
}

/**
 * Creates the queue of an account. Calls that go at once are served first. All others are served when they are due, in
 * the dispatcher's turns.
 *
 * @param queue.from time before which nothing is served, in milliseconds since the epoch
 * @param queue.seenPace the pace at which the account was seen to take calls, if it is slower than the plan's
 */
export function createAccountQueue(
  account: string,
  {
    items,
    from,
    seenPace,
  }: { items: readonly Queued[]; from: number; seenPace?: Pace | undefined },
  inputs: Facts,
): AccountQueue {
  const { documents } = inputs;
  const limits = items[0] && createLimits(items[0].target.account, { from, seenPace }, inputs);
  const turn = findServedAt(account, documents);
  const turns = createTurns<Queued>(turn);
  const atOnce = items.filter(({ isAtOnce }) => isAtOnce);
  /** The calls that are not due yet, and those already taken from the front. */
  const later = items.filter(({ isAtOnce }) => !isAtOnce).toSorted(comparePositions);
  let taken = 0;
  /** Number of calls that are due. */
  let due = atOnce.length;
  let served: Served = { at: from, limit: "", notBefore: from };
  let turnBefore = copyServed(turn);

  const nextServed = (): Served | undefined => {
    const dueAt = due > 0 ? served.at : later[taken]?.dueAt;
    return dueAt === undefined ? undefined : limits?.next(served, dueAt);
  };
  return {
    add(item) {
      later.splice(positionIn(later, taken, item), 0, item);
    },
    nextAt: () => nextServed()?.at,
    limit: () => served.limit,
    take() {
      turnBefore = copyServed(turn);
      served = nextServed() ?? served;
      limits?.take(served);
      for (let item = later[taken]; item !== undefined; item = later[taken]) {
        if (item.dueAt > served.at) break;
        taken += 1;
        turns.add(item.backlog, [item]);
        due += 1;
      }
      const next = atOnce.shift() ?? turns.next()?.item;
      if (next !== undefined) due -= 1;
      return next;
    },
    release() {
      limits?.release();
      Object.assign(turn, turnBefore);
    },
    dial: () => limits?.dial(served.at),
  };
}

/** The last service of a queue: its time, what limited it, and the time from which on it needed a permit. */
interface Served {
  at: number;
  limit: string;
  notBefore: number;
}

/** The limits of an account: its pace or the speed that was seen, its live calls, and its calls of a day. */
function createLimits(
  account: ResolvedAccount,
  { from, seenPace }: { from: number; seenPace: Pace | undefined },
  { documents }: Pick<Facts, "documents">,
) {
  const limits = simulated.flatMap((simulate) => simulate(account, { now: from, documents }) ?? []);
  const permits = simulatedPermits(account, { documents, seen: seenPace });
  return {
    /** Returns the next service of a call that is due at `dueAt`. */
    next(served: Served, dueAt: number): Served {
      let notBefore = Math.max(served.at, dueAt);
      const free = limits.map((one) => {
        const ready = notBefore;
        notBefore = one.freeAt(ready);
        return { one, ready, freeAt: notBefore };
      });
      const at = permits.at(notBefore);
      const by = free.findLast(({ one, ready, freeAt }) => one.isCause({ ready, freeAt, at }));
      return { at, limit: by?.one.limit ?? permits.limit, notBefore };
    },
    take: ({ notBefore }: Served) => permits.take(notBefore),
    release: permits.release,
    dial(at: number) {
      for (const one of limits) one.begin(at);
    },
  };
}

/** Returns the position of an item in a sorted list, at least `from`. */
function positionIn(list: readonly Queued[], from: number, item: Queued): number {
  let [low, high] = [from, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = list[middle];
    if (other !== undefined && comparePositions(other, item) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
