/** The write was refused because another write changed the version first. */
export class ConflictError extends Error {}

/** Schedule of the tries of some work. */
export interface RetryOptions {
  /** Waits between the tries, in milliseconds. N waits allow N + 1 tries. */
  delaysMs: readonly number[];
  /** Returns true if the work may be tried again after this error. Default: always. */
  when?: (error: unknown) => boolean;
  /** Waits for some milliseconds. May be absent if all `delaysMs` are zero. */
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

/** Returns a schedule that repeats work at once after a ConflictError, up to `triesMax` tries in all. */
export function onConflict(triesMax: number): RetryOptions {
  return {
    delaysMs: Array.from({ length: triesMax - 1 }, () => 0),
    when: (error) => error instanceof ConflictError,
  };
}

/** Resolves to the result of `work`, or rejects after `seconds`. The actions of `work` may still take effect. */
export function withTimeLimit<Result>(work: Promise<Result>, seconds: number): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const late = () => reject(new Error(`no answer within ${seconds} s`));
  const timer = setTimeout(late, seconds * 1000);
  const succeed = (result: Result) => {
    clearTimeout(timer);
    resolve(result);
  };
  const fail = (error: unknown) => {
    clearTimeout(timer);
    reject(error);
  };
  // One `then` with both handlers creates fewer promises than Promise.race; a call waits here for several answers.
  work.then(succeed, fail);
  return promise;
}

/**
 * Wraps a port so that each of its calls fails after `seconds` without an answer. All its methods return
 * promises.
 *
 * @param seconds the limit, or a function of a call's method and first argument
 * @param timed receives the duration of each answered call in milliseconds
 */
export function withTimeLimits<Port extends object>(
  port: Port,
  seconds: number | ((method: PropertyKey, argument: unknown) => number),
  timed?: { now(): number; note(ms: number): void },
): Port {
  return new Proxy(port, {
    get(target, name, receiver) {
      const method: unknown = Reflect.get(target, name, receiver);
      if (typeof method !== "function") return method;
      return (...values: unknown[]) => {
        // An error thrown by a method before its first await becomes a rejection too.
        const work = Promise.resolve().then(() => Reflect.apply(method, target, values) as unknown);
        const limit = typeof seconds === "number" ? seconds : seconds(name, values[0]);
        if (timed === undefined) return withTimeLimit(work, limit);
        const askedAt = timed.now();
        return withTimeLimit(work, limit).then((answer) => {
          timed.note(timed.now() - askedAt);
          return answer;
        });
      };
    },
  });
}
