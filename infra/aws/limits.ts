/** Timeout of the dialer's function. */
export const dialerTimeoutSeconds = 120;

/** Maximum concurrent deliveries of the call queue without a reservation, and of the dead-letter queue. */
const deliveriesAtOnce = 20;
export const deadDeliveriesAtOnce = 2;
/** Reserved invocations kept free for the sweep and the purge, which must not wait for deliveries. */
const scheduledAtOnce = 2;
const others = deadDeliveriesAtOnce + scheduledAtOnce;
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
