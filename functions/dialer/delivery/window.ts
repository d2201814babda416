/** Minimum window: requests that a delivery sends an account at once until it answers, and again once it does not. */
export const windowMin = 2;
/** Maximum window: no account's concurrency exceeds 100, so a larger window would say nothing. */
const windowMax = 128;
/** Calls are claimed ahead for this time: about as long as claiming and settling take. */
const aheadMs = 30;
const aheadMin = 3;
export const aheadMax = 20;
/** Weight of an answer in the average of an account's answer times. */
const answerWeight = 0.1;

/** Limits of a delivery's requests under way per account, as this process knows the account. */
export interface Windows {
  /** Doubles the window after an answer, and closes it to two after an unanswered request. */
  adjust(account: string, wasAnswered: boolean, ms: number): void;
  limitOf(account: string): number;
  /**
   * Calls to claim beyond the requests under way: those that will be sent within 30 ms, but 3 at least and 20 at most.
   * With fewer, connections to a fast provider stay idle while claims are written. With more, a process that dies
   * leaves more claims behind.
   */
  aheadOf(account: string, connections: number): number;
}

export function createWindows(): Windows {
  const limits = new Map<string, number>();
  const answersMs = new Map<string, number>();
  const limitOf = (account: string) => limits.get(account) ?? windowMin;
  return {
    adjust(account, wasAnswered, ms) {
      limits.set(account, wasAnswered ? Math.min(limitOf(account) * 2, windowMax) : windowMin);
      if (!wasAnswered) return;
      const before = answersMs.get(account) ?? ms;
      answersMs.set(account, before + (ms - before) * answerWeight);
    },
    limitOf,
    aheadOf(account, connections) {
      const answerMs = Math.max(answersMs.get(account) ?? aheadMs, 1);
      const sentMeanwhile = (Math.min(limitOf(account), connections) * aheadMs) / answerMs;
      return Math.min(Math.max(Math.ceil(sentMeanwhile), aheadMin), aheadMax);
    },
  };
}
