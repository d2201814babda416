import type { AckOrRetry } from "../../../shared/ports/queue.ts";

/** Number of deliveries for which a callback comes again after the same time. */
const attemptsPerSecond = 40;

/**
 * Hands back a callback whose call is being dialed, until the holder of its claim has settled it or let it lapse: after a
 * second, later after three. A hundred attempts last for three minutes, longer than any claim and the sweep after it.
 */
export function awaitHolder(attempt: number): AckOrRetry {
  return { retryAfterSeconds: Math.ceil(attempt / attemptsPerSecond) };
}
