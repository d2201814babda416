import type { CallLedger } from "../../shared/ledger/call-ledger.ts";
import { errorForLog, type Log } from "../../shared/log.ts";
import type { DialingProvider } from "../../shared/providers/dialing-provider.ts";
import type { Route } from "../../shared/providers/index.ts";
import type { CallQueue, Disposition } from "../../shared/queue/call-queue.ts";
import type { ApiSettings, Settings } from "../../shared/settings.ts";
import { withTimeLimit } from "../../shared/time-limit.ts";

export interface DialerDeps {
  queue: CallQueue;
  ledger: CallLedger;
  settings: Settings<DialerSettings>;
  clock: {
    /** Milliseconds since the epoch. */
    now(): number;
    /** Sets no timer for no time: each goes off by itself, which would part lanes that share round trips. */
    sleep(ms: number): Promise<void>;
  };
  random: {
    /** Random, 32 hex digits. */
    token(): string;
    /** 0 ≤ fraction < 1. */
    fraction(): number;
  };
  /** Requests to providers under way at once. */
  lanes: number;
  log: Log;
}

/** The machine's clock. */
export const systemClock: DialerDeps["clock"] = {
  now: Date.now,
  sleep: (ms) => (ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : Promise.resolve()),
};

export type DialerSettings = ApiSettings & {
  providerOf(route: Route): DialingProvider<Route>;
  /** How often the sweep's clock ticks; a sweep looks two of its periods ahead. */
  sweepSeconds: number;
};

/** Dependencies of a delivery whose settings have been found right. */
export type ReadyDeps = Omit<DialerDeps, "settings"> & { settings: DialerSettings };

/** Before a function ends, as it may stand still then for good. Failing, the hours' counts miss what it did. */
export async function writeCounts({
  ledger,
  log,
}: Pick<DialerDeps, "ledger" | "log">): Promise<void> {
  await withTimeLimit(ledger.writeCounts(), 3).catch((error: unknown) =>
    log("warning", "counts.lost", { error: errorForLog(error) }),
  );
}

/** Hands a message back to the queue: 60 s growing to 15 min, so that 100 attempts outlast a day's outage. */
export function handBack(attempt: number): Disposition {
  return { retryAfterSeconds: Math.min(60 * 2 ** Math.min(attempt - 1, 4), 900) };
}
