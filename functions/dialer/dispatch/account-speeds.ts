import { type Speed, speedAfter } from "#shared/policy/account-speed.ts";

/** Time before a breaker opens in which requests may have failed already. */
const troubleMs = 30_000;

/** Measurements of an account by a tick: see account-speed.ts. */
export interface SpeedSeen {
  completed: number;
  at: number;
  /** True if a breaker of the account or of one of its backlogs is not closed. */
  isTroubled: boolean;
}

/** Measures how fast accounts take calls, from tick to tick. */
export interface AccountSpeeds {
  /** Records that due calls of an account wait because it takes them no faster. */
  recordLimited(account: string): void;
  /** Returns the speed after a tick. */
  after(account: string, before: Speed | undefined, seen: SpeedSeen): Speed | undefined;
}

export function createAccountSpeeds(): AccountSpeeds {
  /** Accounts for which due calls waited at the end of the last tick. */
  const limited = new Set<string>();
  /** The speeds of the last half minute, the oldest first. */
  const lately = new Map<string, { at: number; speed: Speed | undefined }[]>();
  return {
    recordLimited: (account) => void limited.add(account),
    after(account, before, { completed, at, isTroubled }) {
      const isLimited = limited.delete(account);
      const kept = lately.get(account) ?? [];
      if (isTroubled) {
        // Requests had failed before the breaker opened, so the measured speed was wrong.
        const [oldest] = kept;
        lately.delete(account);
        const speed = oldest === undefined ? before : oldest.speed;
        return speedAfter(speed, { completed, at, isLimited: false });
      }
      const since = kept.findLastIndex((one) => one.at <= at - troubleMs);
      lately.set(account, [...kept.slice(Math.max(0, since)), { at, speed: before }]);
      return speedAfter(before, { completed, at, isLimited });
    },
  };
}
