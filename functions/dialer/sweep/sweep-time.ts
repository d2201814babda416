import { endMarginMs, sweepMsMax } from "#shared/lib/timing.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** A budget of time and of statements. */
export interface SweepTime {
  isOver(): boolean;
}

/** The most that a phase may take of a sweep. */
interface Part {
  ms: number;
  statements: number;
}

/**
 * Returns a function that begins the budget of one phase. All budgets end before the sweep's invocation and its lease
 * do. A phase checks its budget between steps, and a step takes some twenty statements: together they stay within
 * D1's thousand.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export function planSweep(
  deadline: number,
  { clock, statementsLeft }: Pick<DialerDeps, "clock" | "statementsLeft">,
): (part: Part) => SweepTime {
  const endAt = Math.min(deadline - endMarginMs, clock.now() + sweepMsMax);
  return ({ ms, statements }) => {
    const partEndAt = Math.min(endAt, clock.now() + ms);
    const left = statementsLeft();
    // Where they are not counted, both are infinite and the difference is no number.
    return {
      isOver: () => clock.now() >= partEndAt || left - statementsLeft() >= statements,
    };
  };
}
