/** Time for which a client remembers a key: an hour longer than the service does. */
const lifeMs = 25 * 60 * 60 * 1000;
/** Maximum keys that a client remembers, some 3 MB. */
const keysMaxDefault = 20_000;

/** Outcomes of all tries under a key. A record changes in one direction alone. */
interface KeyRecord {
  /** True once a byte of a try has left. */
  isSent: boolean;
  /** True once a try may have been accepted, or was. */
  isMaybeAccepted: boolean;
  /** Tries that are under way. */
  open: number;
  /** Time of the last try, in milliseconds since the epoch. */
  at: number;
}

/** The outcome of one try, as far as its key depends on it. */
export type TryOutcome = "not_sent" | "refused" | "maybe_accepted";

/** Records the tries of one request under its keys, and reports all tries under them. */
export interface KeyTracker {
  /** Notes that a try begins. Returns what notes its outcome. */
  begin(): (outcome: TryOutcome) => void;
  isSent(): boolean;
  isMaybeAccepted(): boolean;
}

export type KeyMemory = ReturnType<typeof createKeyMemory>;

/**
 * Creates the memory of a client's keys: whether calls may have been accepted under a key is the OR over all its tries, of
 * earlier and of concurrent requests too. A refusal of this try takes nothing back.
 *
 * Once more keys were used within a day than fit, a key that it does not know counts as one that may have been accepted.
 */
export function createKeyMemory(keysMax = keysMaxDefault) {
  const records = new Map<string, KeyRecord>();
  let doubtfulUntil = 0;

  function recordOf(key: string, now: number): KeyRecord {
    const found = records.get(key);
    const isKnown = found !== undefined && (found.open > 0 || found.at + lifeMs > now);
    const record = isKnown ? found : { isSent: false, isMaybeAccepted: false, open: 0, at: now };
    record.at = now;
    records.delete(key); // and to the end, so that the oldest stand first
    records.set(key, record);
    return record;
  }

  function forget(now: number): void {
    for (const [key, { at }] of records) {
      const isOld = at + lifeMs <= now;
      if (!isOld && records.size <= keysMax) return;
      records.delete(key);
      if (!isOld) doubtfulUntil = Math.max(doubtfulUntil, at + lifeMs);
    }
  }

  return {
    /**
     * Tracks a request under its keys, such as those of a list and of its part.
     *
     * @param isFresh true if the keys are random ones that nobody can have used
     */
    track(keys: readonly string[], isFresh: boolean): KeyTracker {
      const now = Date.now();
      const isDoubtful = !isFresh && now < doubtfulUntil && keys.some((key) => !records.has(key));
      let own = keys.flatMap((key) => records.get(key) ?? []);
      return {
        begin() {
          const at = Date.now();
          own = keys.map((key) => recordOf(key, at));
          forget(at);
          const begun = own;
          for (const record of begun) record.open += 1;
          return (outcome) => {
            for (const record of begun) {
              record.open -= 1;
              record.isSent ||= outcome !== "not_sent";
              record.isMaybeAccepted ||= outcome === "maybe_accepted";
            }
          };
        },
        isSent: () => isDoubtful || own.some(({ isSent, open }) => isSent || open > 0),
        isMaybeAccepted: () =>
          isDoubtful || own.some((record) => record.isMaybeAccepted || record.open > 0),
      };
    },
  };
}
