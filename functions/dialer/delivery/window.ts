/** Minimum window: requests that a process sends an account at once until it answers, and again once it does not. */
export const windowMin = 2;
/** Maximum window: no account's concurrency exceeds 100, so a larger window would say nothing. */
const windowMax = 128;

interface Window {
  limit: number;
  underWay: number;
}

/** Limits of requests under way per account in this process. */
export interface Windows {
  /** Returns false if the account has as many requests under way as its window allows. */
  begin(account: string): boolean;
  end(account: string): void;
  /** Doubles the window after an answer, and closes it to two after an unanswered request. */
  adjust(account: string, wasAnswered: boolean): void;
  limitOf(account: string): number;
}

export function createWindows(): Windows {
  const windows = new Map<string, Window>();
  const of = (account: string): Window => {
    const found = windows.get(account) ?? { limit: windowMin, underWay: 0 };
    windows.set(account, found);
    return found;
  };
  return {
    begin(account) {
      const window = of(account);
      if (window.underWay >= window.limit) return false;
      window.underWay += 1;
      return true;
    },
    end(account) {
      of(account).underWay -= 1;
    },
    adjust(account, wasAnswered) {
      const window = of(account);
      window.limit = wasAnswered ? Math.min(window.limit * 2, windowMax) : windowMin;
    },
    limitOf: (account) => of(account).limit,
  };
}
