/** How many requests a process sends an account at once: two until it answers, and two again once it does not. */
export const windowMin = 2;
/** No account's concurrency is above 100, so a larger window would tell nothing. */
const windowMax = 128;

interface Window {
  limit: number;
  underWay: number;
}

/** The windows of this process, by account. */
export interface Windows {
  /** False: the account has as many requests under way as its window allows. */
  begin(account: string): boolean;
  end(account: string): void;
  /** Doubles the window by an answer, and closes it to two where a request stayed unanswered. */
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
