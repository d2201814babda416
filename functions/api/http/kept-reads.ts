import { withTimeLimit } from "#shared/lib/retry.ts";

/** Time limit for a read that another request has begun. On Workers it never ends if that request's client hangs up. */
const sharedSecondsMax = 5;
/** Time for which a failure is kept: a flood of requests makes one read a second meanwhile. */
const failureKeptMs = 1_000;

interface KeptRead<Value> {
  /** Time at which the read began, in milliseconds since the epoch. */
  at: number;
  result: Promise<Value>;
  /** Undefined: the read has not ended well. */
  found?: { value: Value };
  hasFailed: boolean;
}

/**
 * Shares reads between the requests of this process: concurrent requests wait for one read, and later ones take its result for
 * `keptMs` since it began.
 *
 * @param options.keptMax results kept at once. The oldest is dropped for a further one
 */
export function createKeptReads<Value>(
  read: (key: string) => Promise<Value>,
  { keptMs, keptMax, now }: { keptMs: number; keptMax: number; now: () => number },
) {
  const kept = new Map<string, KeptRead<Value>>();

  function fresh(key: string): KeptRead<Value> | undefined {
    const one = kept.get(key);
    const age = one === undefined ? Infinity : now() - one.at;
    const ageMax = one?.hasFailed === true ? failureKeptMs : keptMs;
    return age >= 0 && age < ageMax ? one : undefined;
  }

  function readNow(key: string): Promise<Value> {
    const one: KeptRead<Value> = { at: now(), result: read(key), hasFailed: false };
    kept.delete(key);
    const oldest = kept.size >= keptMax ? kept.keys().next().value : undefined;
    if (oldest !== undefined) kept.delete(oldest);
    kept.set(key, one);
    one.result.then(
      (value) => (one.found = { value }),
      () => (one.hasFailed = true),
    );
    return one.result;
  }

  async function find(key: string): Promise<Value> {
    const one = fresh(key);
    if (one === undefined) return readNow(key);
    // The first one that has waited in vain reads anew, and the others wait for that.
    return withTimeLimit(one.result, sharedSecondsMax).catch((error: unknown) => {
      if (one.hasFailed) throw error;
      return kept.get(key) === one ? readNow(key) : find(key);
    });
  }

  return {
    find,
    /** Returns a result that is still kept. */
    known: (key: string): { value: Value } | undefined => fresh(key)?.found,
  };
}
