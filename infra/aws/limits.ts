/** Timeout of the dialer's function. */
export const dialerTimeoutSeconds = 120;

/** Maximum concurrent deliveries of the call queue without a reservation. */
const deliveriesAtOnce = 20;
/** The same of the events queue, and of each dead-letter queue: the least that Lambda accepts, so that most are left to dial. */
export const otherDeliveriesAtOnce = 2;
const otherQueues = 3;
/** Reserved invocations kept free for the sweep and the purge, which must not wait for deliveries. */
const scheduledAtOnce = 2;
const others = otherQueues * otherDeliveriesAtOnce + scheduledAtOnce;
/** Least reservation of the dialer. Lambda accepts no maximum of concurrent deliveries below two. */
export const reservationMin = others + 2;

/**
 * Returns the maximum concurrent deliveries of the call queue: the reservation less the invocations kept for
 * others.
 */
export function deliveriesOf(dialerConcurrency: number | undefined): number {
  if (dialerConcurrency === undefined) return deliveriesAtOnce;
  if (Number.isInteger(dialerConcurrency) && dialerConcurrency >= reservationMin) {
    return dialerConcurrency - others;
  }
  throw new Error(`dialerConcurrency must be a whole number, at least ${reservationMin}`);
}
