import type { BreakerCause } from "../ports/document-kinds.ts";

interface CauseFacts {
  /** Time from opening to the first probe, and then between probes, in milliseconds. The last one repeats. */
  intervalsMs: readonly number[];
  /** True if any answer about a call closes the breaker. Otherwise only a placed call does. */
  isEndedByAnswer: boolean;
  /** True if the breaker closes gradually: one call at a time at first, one more after each success. */
  isHalfOpened: boolean;
}

/** Causes by which a provider only slows calls down, which is no trouble: a warning reports them, and no alarm. */
export const throttles: ReadonlySet<BreakerCause> = new Set(["busy", "full"]);

const seconds = (...counts: number[]) => counts.map((count) => count * 1000);

/**
 * The causes that open a circuit breaker, and the intervals of its probes. circuit-breaker.ts reads all rules from
 * here.
 */
export const causes: Readonly<Record<BreakerCause, CauseFacts>> = {
  /** Unanswered requests: five in a row, or half of the last twenty. */
  unreachable: {
    intervalsMs: seconds(5, 10, 15, 30, 60, 120),
    isEndedByAnswer: true,
    isHalfOpened: false,
  },
  /** One 429. `Retry-After` replaces the interval. Half-open, as some calls may succeed when all at once do not. */
  busy: { intervalsMs: seconds(1, 2, 4, 8, 10), isEndedByAnswer: true, isHalfOpened: true },
  /** The account has as many live calls as it may have. */
  full: { intervalsMs: seconds(1, 2, 4, 8, 10), isEndedByAnswer: false, isHalfOpened: true },
  /** The provider refuses the account: one answer. */
  account_refused: {
    intervalsMs: seconds(60, 120, 240, 480, 900),
    isEndedByAnswer: false,
    isHalfOpened: false,
  },
  /** The provider refuses a part of the agent's route: one answer. */
  agent_refused: {
    intervalsMs: seconds(60, 120, 240, 480, 900),
    isEndedByAnswer: false,
    isHalfOpened: false,
  },
  /**
   * Twenty equal refusals of different numbers, or fifty numbers blamed. Then one call at a time follows, less and
   * less often. Each is to another number, and waits again if it is refused, so that no list is used up.
   */
  calls_refused: {
    intervalsMs: seconds(8, 16, 32, 60, 120, 240, 480, 900, 1_800, 3_600),
    isEndedByAnswer: false,
    isHalfOpened: false,
  },
  /** A receiver of events fails. Its events wait in the ledger. */
  receiver: {
    intervalsMs: seconds(60, 120, 240, 480, 900),
    isEndedByAnswer: true,
    isHalfOpened: false,
  },
  /** A check fails: five answers in a row. The calls of its agents wait. */
  check: {
    intervalsMs: seconds(5, 10, 15, 30, 60),
    isEndedByAnswer: true,
    isHalfOpened: false,
  },
  /** A cause that only a later version knows. Only a placed call shows that it is over. */
  other: {
    intervalsMs: seconds(60, 120, 240, 480, 900),
    isEndedByAnswer: false,
    isHalfOpened: false,
  },
};

/** Returns the interval that follows one of `intervalMs`. */
export function nextIntervalMs(cause: BreakerCause, intervalMs: number): number {
  const { intervalsMs } = causes[cause];
  return (
    intervalsMs.find((one) => one > intervalMs) ?? Math.max(intervalMs, intervalsMs.at(-1) ?? 0)
  );
}
