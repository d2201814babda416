import type { Windows } from "./window.ts";

/** Maximum wait of a claimed call in the gate: its request must leave while the claim is young. */
const waitMsMax = 5_000;
/** Interval of checks for room that another delivery of this process has left in an account's window. */
const lookMs = 100;

/**
 * Admits the requests of one delivery in the order of arrival: at most `total` at once, per account as many
 * as this process's window allows, and at most half while calls of another account are left.
 */
export interface RequestGate {
  /** Resolves to false if the request was not admitted in time. */
  enter(account: string): Promise<boolean>;
  leave(account: string): void;
}

export function createRequestGate({
  total,
  isShared,
  windows,
  clock,
}: {
  total: number;
  /**
   * Returns true if calls of other accounts are left in the delivery: then one account has at most half of
   * the requests.
   */
  isShared(account: string): boolean;
  windows: Windows;
  clock: { now(): number; sleep(ms: number): Promise<void> };
}): RequestGate {
  const half = Math.ceil(total / 2);
  const underWay = new Map<string, number>();
  const heldBy = (account: string) => underWay.get(account) ?? 0;
  const waiting: { account: string; letIn(): void }[] = [];
  const letInFree = () => {
    let held = 0;
    for (const count of underWay.values()) held += count;
    for (const one of waiting.slice()) {
      const { account } = one;
      if (held >= total) return;
      if (heldBy(account) >= half && isShared(account)) continue;
      if (!windows.begin(account)) continue;
      held += 1;
      underWay.set(account, heldBy(account) + 1);
      waiting.splice(waiting.indexOf(one), 1);
      one.letIn();
    }
  };
  return {
    async enter(account) {
      let isIn = false;
      const { promise, resolve } = Promise.withResolvers<void>();
      const own = {
        account,
        letIn() {
          isIn = true;
          resolve();
        },
      };
      waiting.push(own);
      const until = clock.now() + waitMsMax;
      for (;;) {
        letInFree();
        if (isIn) return true;
        const leftMs = until - clock.now();
        if (leftMs <= 0) {
          waiting.splice(waiting.indexOf(own), 1);
          return false;
        }
        await Promise.race([promise, clock.sleep(Math.min(leftMs, lookMs))]);
        if (isIn) return true;
      }
    },
    leave(account) {
      underWay.set(account, heldBy(account) - 1);
      windows.end(account);
      letInFree();
    },
  };
}
