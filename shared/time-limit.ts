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
