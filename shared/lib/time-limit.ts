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
  // Each call waits like this for several answers: Promise.race, or a second `then` for the timer, creates more promises.
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
