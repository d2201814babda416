import { findServedAt } from "#shared/policy/dispatcher.ts";
import { comparePositions } from "#shared/ports/ledger.ts";
import type { ResolvedAccount } from "#shared/dial-plan/route-table.ts";
import type { Facts } from "#shared/rules/rule.ts";
import { toPermitTime, type Pace } from "#shared/telephony/rate.ts";
import { copyServed, createTurns } from "#shared/policy/turns.ts";
import type { Queued } from "./queued.ts";
import { paceKeyOf } from "#shared/rules/pace.ts";
import { simulated } from "#shared/rules/gates.ts";

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

const unpaced: Pace = { intervalUs: 0, burst: 1 };

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
  const { kind, key } = paceKeyOf(account);
  const limits = items[0] && createLimits(items[0].target.account, { from, seenPace }, inputs);
  const turn = findServedAt(account, documents);
  const turns = createTurns<Queued>(turn);
  const atOnce = items.filter(({ isAtOnce }) => isAtOnce);
  /** The calls that are not due yet, and those already taken from the front. */
  const later = items.filter(({ isAtOnce }) => !isAtOnce).toSorted(comparePositions);
  let taken = 0;
  /** Number of calls that are due. */
  let due = atOnce.length;
  let served: Served = {
    at: from,
    limit: "pace",
    arrivalUs: documents.get(kind, key)?.value.arrivalUs ?? 0,
  };
  let before = { arrivalUs: served.arrivalUs, turn: copyServed(turn) };

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
      before = { arrivalUs: served.arrivalUs, turn: copyServed(turn) };
      served = nextServed() ?? served;
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
      served.arrivalUs = before.arrivalUs;
      Object.assign(turn, before.turn);
    },
    dial: () => limits?.dial(served.at),
  };
}

/** The last service of a queue: its time, what limited it, and the theoretical arrival time of the pace. */
interface Served {
  at: number;
  limit: string;
  arrivalUs: number;
}

/** The limits of an account: its pace or the speed that was seen, its live calls, and its calls of a day. */
function createLimits(
  account: ResolvedAccount,
  { from, seenPace }: { from: number; seenPace: Pace | undefined },
  { documents }: Pick<Facts, "documents">,
) {
  const { pace: planned } = account;
  const isSlow = seenPace !== undefined && seenPace.intervalUs > (planned?.intervalUs ?? 0);
  const pace = isSlow ? seenPace : (planned ?? unpaced);
  const limits = simulated.flatMap((simulate) => simulate(account, { now: from, documents }) ?? []);
  return {
    /** Returns the next service of a call that is due at `dueAt`. */
    next(served: Served, dueAt: number): Served {
      let notBefore = Math.max(served.at, dueAt);
      const free = limits.map((one) => {
        const ready = notBefore;
        notBefore = one.freeAt(ready);
        return { one, ready, freeAt: notBefore };
      });
      const baseUs = Math.max(served.arrivalUs, notBefore * 1000);
      const at = toPermitTime(baseUs, pace, { index: 0, notBefore });
      const by = free.findLast(({ one, ready, freeAt }) => one.isCause({ ready, freeAt, at }));
      const limit = by?.one.limit ?? (isSlow ? "slow" : "pace");
      return { at, limit, arrivalUs: baseUs + pace.intervalUs };
    },
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
