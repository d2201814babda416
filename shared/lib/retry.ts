/** Another write came first: what was to be changed has another version by now. */
export class ConflictError extends Error {}

/** Schedule of the tries of some work. */
export interface RetryOptions {
  /** Waits before each further try, in milliseconds: there is one try more than waits. */
  delaysMs: readonly number[];
  /** Returns true if work that failed so may be tried again. Absent: always. */
  when?: (error: unknown) => boolean;
  /** Waits for some milliseconds. Zero needs no waiting, so that schedules of zeros need none. */
  sleep?: (ms: number) => Promise<void>;
}

/**
 * Runs `work` until it succeeds or has been tried as often as the schedule says.
 *
 * @throws the error of the last try, or the first one that `when` does not let be tried again
 */
export async function retry<Result>(
  work: () => Promise<Result>,
  { delaysMs, when = () => true, sleep }: RetryOptions,
): Promise<Result> {
  for (const delayMs of delaysMs) {
    try {
      return await work();
    } catch (error) {
      if (!when(error)) throw error;
    }
    if (delayMs > 0) await sleep?.(delayMs);
  }
  return work();
}

/** Returns the schedule of a read and a write that other writers may come before: at once again, `triesMax` times in all. */
export function onConflict(triesMax: number): RetryOptions {
  return {
    delaysMs: Array.from({ length: triesMax - 1 }, () => 0),
    when: (error) => error instanceof ConflictError,
  };
}
