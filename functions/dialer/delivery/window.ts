/** Minimum window: requests that a delivery sends an account at once until it answers, and again once it does not. */
export const windowMin = 2;
/** Maximum window: no account's concurrency exceeds 100, so a larger window would say nothing. */
const windowMax = 128;

/** Limits of a delivery's requests under way per account, as this process knows the account. */
export interface Windows {
  /** Doubles the window after an answer, and closes it to two after an unanswered request. */
  adjust(account: string, wasAnswered: boolean): void;
  limitOf(account: string): number;
}

export function createWindows(): Windows {
  const limits = new Map<string, number>();
  const limitOf = (account: string) => limits.get(account) ?? windowMin;
  return {
    adjust(account, wasAnswered) {
      limits.set(account, wasAnswered ? Math.min(limitOf(account) * 2, windowMax) : windowMin);
    },
    limitOf,
  };
}
