/** Time without a place freed by its account after which a call gives up waiting. */
const noPlaceMs = 5_000;

interface Waiter {
  account: string;
  grant(): void;
}

/**
 * Places for the claimed calls of one delivery. A free place goes to the waiting account with the fewest
 * claims under way, and no account holds more than half while calls of another are left: an account that
 * hangs delays its own calls only.
 */
export interface Places {
  /**
   * Resolves to true with a place, to be given back by `release`; false if the account freed no place within
   * five seconds.
   */
  acquire(account: string): Promise<boolean>;
  release(account: string): void;
}

export function createPlaces({
  total,
  limitOf,
  isShared,
  clock,
}: {
  total: number;
  /** Places that one account may hold now. The limit grows as the account answers. */
  limitOf(account: string): number;
  /** Returns true if calls of other accounts are left in the delivery. */
  isShared(account: string): boolean;
  clock: { now(): number; sleep(ms: number): Promise<void> };
}): Places {
  const half = Math.ceil(total / 2);
  const waiters: Waiter[] = [];
  const underWay = new Map<string, number>();
  /** Time at which a place was last taken or freed, by account. */
  const progressAt = new Map<string, number>();
  const heldBy = (account: string) => underWay.get(account) ?? 0;

  const mayTake = (account: string): boolean => {
    const held = heldBy(account);
    return held < limitOf(account) && (held < half || !isShared(account));
  };
  const grantFree = () => {
    let held = 0;
    for (const count of underWay.values()) held += count;
    for (; held < total; held++) {
      let next: Waiter | undefined;
      for (const waiter of waiters) {
        const fewer = next === undefined || heldBy(waiter.account) < heldBy(next.account);
        if (fewer && mayTake(waiter.account)) next = waiter;
      }
      if (next === undefined) return;
      waiters.splice(waiters.indexOf(next), 1);
      underWay.set(next.account, heldBy(next.account) + 1);
      progressAt.set(next.account, clock.now());
      next.grant();
    }
  };

  return {
    async acquire(account) {
      let isGranted = false;
      const granted = Promise.withResolvers<void>();
      const waiter: Waiter = {
        account,
        grant() {
          isGranted = true;
          granted.resolve();
        },
      };
      waiters.push(waiter);
      const since = clock.now();
      // All calls that ask at the same time are queued before the first place is granted.
      await Promise.resolve();
      grantFree();
      for (;;) {
        if (isGranted) return true;
        const idleSince = Math.max(since, progressAt.get(account) ?? 0);
        const leftMs = idleSince + noPlaceMs - clock.now();
        if (leftMs <= 0) {
          waiters.splice(waiters.indexOf(waiter), 1);
          return false;
        }
        // The limit may have grown through another delivery's answers, so the wait is cut into short pieces.
        await Promise.race([granted.promise, clock.sleep(Math.min(leftMs, 500))]);
        grantFree();
      }
    },
    release(account) {
      underWay.set(account, heldBy(account) - 1);
      progressAt.set(account, clock.now());
      grantFree();
    },
  };
}
