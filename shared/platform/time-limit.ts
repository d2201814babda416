/** The result of `work`, or an error after `seconds`; what `work` was doing may still take effect. */
export function withTimeLimit<Result>(work: Promise<Result>, seconds: number): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const late = () => reject(new Error(`no answer within ${seconds} s`));
  const timer = setTimeout(late, seconds * 1000);
  // No Promise.race: each call waits so for several answers, and that makes promises of its own.
  const end = () => clearTimeout(timer);
  work.then(end, end);
  work.then(resolve, reject);
  return promise;
}

/**
 * The same port, each of whose calls fails after `seconds` without an answer. All its methods return promises.
 *
 * @param timed is told how many milliseconds each answer took
 */
export function withTimeLimits<Port extends object>(
  port: Port,
  seconds: number,
  timed?: { now(): number; note(ms: number): void },
): Port {
  return new Proxy(port, {
    get(target, name, receiver) {
      const method: unknown = Reflect.get(target, name, receiver);
      if (typeof method !== "function") return method;
      return (...values: unknown[]) => {
        // An error that a method throws before its first wait is a rejection too.
        const work = Promise.resolve().then(() => Reflect.apply(method, target, values) as unknown);
        if (timed === undefined) return withTimeLimit(work, seconds);
        const askedAt = timed.now();
        return withTimeLimit(work, seconds).then((answer) => {
          timed.note(timed.now() - askedAt);
          return answer;
        });
      };
    },
  });
}
