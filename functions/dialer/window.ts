/** How many requests one process sends an account at once: few until it answers, and few again once it does not. */
export interface Window {
  limit: number;
  underWay: number;
}

const windowMin = 2;
/** A call finds no place where its account has freed none for this long. */
const noPlaceMs = 5_000;

/** The window of an account in this process. */
function windowOf(account: string, windows: Map<string, Window>): Window {
  const found = windows.get(account) ?? { limit: windowMin, underWay: 0 };
  windows.set(account, found);
  return found;
}

/** Doubles the window by an answer, and closes it to two where a request stayed unanswered. */
export function adjustWindow(
  account: string,
  windows: Map<string, Window>,
  wasAnswered: boolean,
): void {
  const window = windowOf(account, windows);
  // No account's concurrency is above 100, so a larger window would tell nothing.
  window.limit = wasAnswered ? Math.min(window.limit * 2, 128) : windowMin;
}

interface Waiter {
  account: string;
  grant(): void;
}

/**
 * Places for the requests of one delivery. A free one goes to the waiting account with the fewest requests under way,
 * and no account holds more than half (rounded up) while another waits: an account that hangs delays its own calls.
 */
export interface Places {
  /** False: no place came free for the account within five seconds. True: call `release` with it at the end. */
  acquire(account: string): Promise<boolean>;
  release(account: string): void;
}

export function createPlaces({
  total,
  half,
  limitOf,
  windows,
  clock,
}: {
  total: number;
  /** What one account may hold while another waits: half of the requests at once, rounded up. */
  half: number;
  /** The plan's concurrency for an account. */
  limitOf(account: string): number;
  windows: Map<string, Window>;
  clock: { now(): number; sleep(ms: number): Promise<void> };
}): Places {
  const waiters: Waiter[] = [];
  const underWay = new Map<string, number>();
  /** When a place was last taken or freed, by account. */
  const progressAt = new Map<string, number>();
  const heldBy = (account: string) => underWay.get(account) ?? 0;

  const mayTake = (account: string): boolean => {
    const window = windowOf(account, windows);
    const others = waiters.some((waiter) => waiter.account !== account);
    return (
      window.underWay < window.limit &&
      heldBy(account) < limitOf(account) &&
      (!others || heldBy(account) < half)
    );
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
      windowOf(next.account, windows).underWay += 1;
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
      // Calls that ask at the same moment are all waiting before the first place is given.
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
        // Another delivery of this process may free a place of the account's window: look again soon.
        await Promise.race([granted.promise, clock.sleep(Math.min(leftMs, 500))]);
        grantFree();
      }
    },
    release(account) {
      underWay.set(account, heldBy(account) - 1);
      windowOf(account, windows).underWay -= 1;
      progressAt.set(account, clock.now());
      grantFree();
    },
  };
}
