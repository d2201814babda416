import type { AckOrRetry } from "#shared/ports/queue.ts";

/** Number of retries with the same delay. */
const attemptsPerSecond = 40;

/**
 * Retries a callback whose call is being dialed, until the holder of its claim has settled or the claim has expired:
 * after a second, later after three. A hundred attempts take three minutes, longer than any claim and the sweep after
 * it.
 */
export function awaitHolder(attempt: number): AckOrRetry {
  return { retryAfterSeconds: Math.ceil(attempt / attemptsPerSecond) };
}
