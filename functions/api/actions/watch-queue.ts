import type { Log } from "#shared/lib/log.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";

/** Age of a queue's oldest message from which on an alarm is raised. */
const lateMs = 15 * minuteMs;

/** Dependencies of the watch. */
interface QueueWatchDeps {
  /** Resolves to the time at which the oldest message was sent; undefined if there is none, or nobody knows. */
  readOldestSentAt(): Promise<number | undefined>;
  clock: { now(): number };
  log: Log;
}

/**
 * Returns a function that raises an alarm, once an hour, while the call queue has an old message: its delivery may be
 * paused, and fresh calls have no row that would show it.
 */
export function createQueueWatch({
  readOldestSentAt,
  clock,
  log,
}: QueueWatchDeps): () => Promise<void> {
  let raisedAt = -Infinity;
  return async () => {
    const sentAt = await readOldestSentAt();
    const now = clock.now();
    if (sentAt === undefined || now - sentAt <= lateMs || now - raisedAt < hourMs) return;
    raisedAt = now;
    log("alarm", "queue.late", { due_at: new Date(sentAt).toISOString() });
  };
}
