import type { DialerDeps } from "../runtime/context.ts";

/** Maximum duration of the phases before events. The next sweep continues. */
const sweepMsMax = 45_000;
/** Time for events if the other phases have taken all of theirs. */
const eventsMs = 5_000;
/** Time reserved before the end of the invocation. */
const endMarginMs = 5_000;

/** A time budget within a sweep. */
export interface SweepTime {
  isOver(): boolean;
}

/**
 * Returns the time budgets of a sweep, which end before its invocation and its lease do.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export function planSweep(
  deadline: number,
  { clock }: Pick<DialerDeps, "clock">,
): { calls: SweepTime; events: SweepTime } {
  const endAt = Math.min(deadline - endMarginMs - eventsMs, clock.now() + sweepMsMax);
  return {
    calls: { isOver: () => clock.now() >= endAt },
    events: { isOver: () => clock.now() >= endAt + eventsMs },
  };
}
