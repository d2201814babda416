import type { AckOrRetry } from "../../../shared/ports/queue.ts";

const firstSeconds = 5;
/** 92 of 100 attempts lie this far apart: together they outlast a day's outage. */
const secondsMax = 960;

/** Hands a message back to the queue for 5 s, doubled by each attempt up to 16 min. */
export function retryLater(attempt: number): AckOrRetry {
  return { retryAfterSeconds: Math.min(firstSeconds * 2 ** (attempt - 1), secondsMax) };
}
