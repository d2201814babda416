import type { AckOrRetry } from "../../shared/queue/call-queue.ts";

/** Hands a message back to the queue for 60 s growing to 15 min, so that 100 attempts outlast a day's outage. */
export function retryLater(attempt: number): AckOrRetry {
  return { retryAfterSeconds: Math.min(60 * 2 ** Math.min(attempt - 1, 4), 900) };
}
