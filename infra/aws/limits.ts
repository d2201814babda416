/** Timeout of the API's function: a second less than API Gateway waits. */
export const apiTimeoutSeconds = 29;
/**
 * Timeout of the dialer's function: any time limit that a plan may have (90 s), with ten seconds before the request and
 * twenty after it, and a minute for all else of a delivery.
 */
export const dialerTimeoutSeconds = 180;
/** Timeout of the dispatcher's function: the longest that Lambda allows. */
export const dispatcherTimeoutSeconds = 900;

/** Maximum concurrent deliveries of the call queue without a reservation. */
const deliveriesAtOnce = 20;
/** The same of the events queue. Several receivers that begin to hang at the same moment hold one each, for 15 seconds. */
export const eventsDeliveriesAtOnce = 6;
/** The same of each dead-letter queue: the least that Lambda accepts, as the API answers clients meanwhile. */
export const deadDeliveriesAtOnce = 2;
/** Reserved invocations kept free for the sweep and the purge, which must not wait for deliveries. */
const scheduledAtOnce = 2;
const others = eventsDeliveriesAtOnce + scheduledAtOnce;
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
