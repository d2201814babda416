import type { AckOrRetry } from "#shared/ports/queue.ts";

const firstSeconds = 5;
/**
 * Delay of 92 of the 100 attempts, which together outlast an outage of a day. A delivery that dies asks for
 * none: its message comes again after the delay that the queue's own settings have.
 */
const secondsMax = 960;

/** Retries a message after 5 s, doubled by each attempt up to 16 min. */
export function retryLater(attempt: number): AckOrRetry {
  return { retryAfterSeconds: Math.min(firstSeconds * 2 ** (attempt - 1), secondsMax) };
}
