/** Interval of checks of the limits, which other deliveries of this process may raise. */
const lookMs = 500;

interface Waiter {
  account: string;
  since: number;
  /** Called with false if it has waited too long. */
  end(isGranted: boolean): void;
}

/** A slot that an account holds until it is released or its scope ends. Releasing again does nothing. */
export interface Slot extends Disposable {
  release(): void;
}

/**
 * Slots of one delivery: for claimed calls, for requests under way, or for look-ups. A free slot goes to the waiting
 * account that holds the fewest, and no account holds more than half while calls of another are left, so that an
 * account that hangs delays only its own calls.
 */
export interface Semaphore {
  /** Resolves to undefined if the account released no slot in time. */
  acquire(account: string): Promise<Slot | undefined>;
  /** Grants what a limit leaves free that has grown. */
  look(): void;
}

interface SemaphoreLimits {
  total: number;
  /** Maximum slots of one account now. The limit grows as the account answers. */
  limitOf(account: string): number;
  /** Returns true if calls of other accounts are left in the delivery. */
  isShared(account: string): boolean;
  /** Time without a slot released by its account after which a call stops waiting, in milliseconds. */
  waitMsMax: number;
  clock: { now(): number; sleep(ms: number): Promise<void> };
}

/** @param free called once, when the slot is released for the first time */
function createSlot(free: () => void): Slot {
  let isHeld = true;
  const release = () => {
    if (!isHeld) return;
    isHeld = false;
    free();
  };
  return { release, [Symbol.dispose]: release };
}

export function createSemaphore(limits: SemaphoreLimits): Semaphore {
  const { total, limitOf, isShared, waitMsMax, clock } = limits;
  const half = Math.ceil(total / 2);
  const waiters = new Set<Waiter>();
  const held = new Map<string, number>();
  /** Time at which a slot was last taken or released, by account. */
  const progressAt = new Map<string, number>();
  const heldBy = (account: string) => held.get(account) ?? 0;
  const change = (account: string, by: number) => {
    held.set(account, heldBy(account) + by);
    progressAt.set(account, clock.now());
  };

  const endWait = (waiter: Waiter, isGranted: boolean) => {
    waiters.delete(waiter);
    waiter.end(isGranted);
  };
  const mayTake = (account: string): boolean =>
    heldBy(account) < limitOf(account) && (heldBy(account) < half || !isShared(account));
  const grantFree = () => {
    let all = 0;
    for (const count of held.values()) all += count;
    for (; all < total; all++) {
      let next: Waiter | undefined;
      for (const waiter of waiters) {
        const fewer = next === undefined || heldBy(waiter.account) < heldBy(next.account);
        if (fewer && mayTake(waiter.account)) next = waiter;
      }
      if (next === undefined) return;
      change(next.account, 1);
      endWait(next, true);
    }
  };
  /** Milliseconds for which a call may wait on. */
  const leftMs = ({ account, since }: Waiter) =>
    Math.max(since, progressAt.get(account) ?? 0) + waitMsMax - clock.now();
  let isLooking = false;
  /** Looks after all who wait, as thousands that each look for themselves take the time of those who dial. */
  const lookAgain = async () => {
    isLooking = true;
    while (waiters.size > 0) {
      await clock.sleep(Math.min(lookMs, ...[...waiters].map(leftMs)));
      grantFree();
      for (const waiter of waiters) if (leftMs(waiter) <= 0) endWait(waiter, false);
    }
    isLooking = false;
  };

  return {
    async acquire(account) {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiters.add({ account, since: clock.now(), end: resolve });
      // Let all calls that ask at the same time queue up before the first slot is granted.
      await Promise.resolve();
      grantFree();
      if (!isLooking) void lookAgain();
      if (!(await promise)) return undefined;
      return createSlot(() => {
        change(account, -1);
        grantFree();
      });
    },
    look: grantFree,
  };
}
