import { withTimeLimit } from "#shared/lib/retry.ts";

/** Time limit for a read that another request has begun. On Workers it never ends if that request's client hangs up. */
const sharedSecondsMax = 5;
/** Time for which a failure is cached, so that a flood of requests makes one read a second. */
const failureCachedMs = 1_000;

interface CachedRead<Value> {
  /** Time at which the read began, in milliseconds since the epoch. */
  at: number;
  result: Promise<Value>;
  /** Undefined: the read has not ended well. */
  found?: { value: Value };
  hasFailed: boolean;
}

/**
 * Shares reads between the requests of this process: concurrent requests wait for one read, and later requests take
 * its result for `cachedMs` from its start.
 *
 * @param options.cachedMax results kept at once. The oldest is dropped for a further one
 */
export function createCachedReads<Value>(
  read: (key: string) => Promise<Value>,
  { cachedMs, cachedMax, now }: { cachedMs: number; cachedMax: number; now: () => number },
) {
  const cached = new Map<string, CachedRead<Value>>();

  function fresh(key: string): CachedRead<Value> | undefined {
    const one = cached.get(key);
    const age = one === undefined ? Infinity : now() - one.at;
    const ageMax = one?.hasFailed === true ? failureCachedMs : cachedMs;
    return age >= 0 && age < ageMax ? one : undefined;
  }

  function readNow(key: string): Promise<Value> {
    const one: CachedRead<Value> = { at: now(), result: read(key), hasFailed: false };
    cached.delete(key);
    const oldest = cached.size >= cachedMax ? cached.keys().next().value : undefined;
    if (oldest !== undefined) cached.delete(oldest);
    cached.set(key, one);
    one.result.then(
      (value) => (one.found = { value }),
      () => (one.hasFailed = true),
    );
    return one.result;
  }

  async function find(key: string): Promise<Value> {
    const one = fresh(key);
    if (one === undefined) return readNow(key);
    // The first request whose wait failed reads again, and the others wait for that read.
    return withTimeLimit(one.result, sharedSecondsMax).catch((error: unknown) => {
      if (one.hasFailed) throw error;
      return cached.get(key) === one ? readNow(key) : find(key);
    });
  }

  return {
    find,
    /** Returns a result that is still cached. */
    known: (key: string): { value: Value } | undefined => fresh(key)?.found,
  };
}
