import type { Documents } from "../../shared/documents/documents.ts";
import type { CallLedger } from "../../shared/ledger/call-ledger.ts";
import type { Log } from "../../shared/platform/log.ts";
import type { DialingProvider } from "../../shared/providers/dialing-provider.ts";
import type { Route } from "../../shared/providers/index.ts";
import type { CallQueue } from "../../shared/queue/call-queue.ts";
import type { ApiSettings, Environment, Settings } from "../../shared/platform/settings.ts";
import { withTimeLimits } from "../../shared/platform/time-limit.ts";
import { noteRoundTrip } from "./delivery/permits.ts";
import { createWindows, type Windows } from "./delivery/window.ts";

export interface DialerDeps {
  queue: CallQueue;
  ledger: CallLedger;
  documents: Documents;
  /** Keeps whole, for 28 days, a message that nobody could read or write down. */
  deadLetters: { store(name: string, body: string): Promise<void> };
  settings: Settings<DialerSettings>;
  clock: {
    /** Milliseconds since the epoch. */
    now(): number;
    sleep(ms: number): Promise<void>;
  };
  random: {
    /** A fresh version of a row or a document: 20 random hex digits. */
    version(): string;
    /** 0 ≤ fraction < 1. */
    fraction(): number;
  };
  /** Requests to providers under way at once in one delivery. */
  concurrency: number;
  /** Time from one sweep to the next. */
  sweepSeconds: number;
  log: Log;
  /** What this process remembers from one delivery to the next. */
  memory: DialerMemory;
}

export type DialerSettings = ApiSettings & {
  providerOf(route: Route): DialingProvider<Route>;
};

/** Dependencies whose settings have been found right. */
export type ReadyDeps = Omit<DialerDeps, "settings"> & { settings: DialerSettings };

/** The clock of both platforms; a local run sets SWEEP_SECONDS, so that nobody waits for a minute. */
export function sweepSecondsOf({ SWEEP_SECONDS }: Environment): number {
  return Number(SWEEP_SECONDS) || 60;
}

const ledgerSecondsMax = 5;
/** For many messages, a hundred or ten in one request, and for a message's body in the object store. */
export const queueSecondsMax = 30;

/** Makes the dependencies ready: every call to ledger, documents and queue has a time limit. */
export function readyDeps(deps: DialerDeps, settings: DialerSettings): ReadyDeps {
  const { clock, memory } = deps;
  const timed = { now: clock.now, note: (ms: number) => noteRoundTrip(memory, ms) };
  return {
    ...deps,
    settings,
    ledger: withTimeLimits(deps.ledger, ledgerSecondsMax, timed),
    documents: withTimeLimits(deps.documents, ledgerSecondsMax, timed),
    queue: withTimeLimits(deps.queue, queueSecondsMax),
    deadLetters: withTimeLimits(deps.deadLetters, queueSecondsMax),
  };
}

/** The state of one process; losing it costs speed and nothing else. */
export interface DialerMemory {
  windows: Windows;
  /** When a backlog's document was last known to be renewed, by its key. */
  backlogsUsedAt: Map<string, number>;
  /** The latest round trips to the ledger, in milliseconds, newest last. */
  roundTripsMs: number[];
  /** Numbers that were counted for a breaker, so that a process counts one number once. */
  countedNumbers: Map<string, Set<string>>;
  /** How many breakers this process has opened: what it read before then does not tell of them. */
  breakersOpened: number;
  /** Rows that were called up along with those that this process has written. */
  calledUp: Set<string>;
  /** When this process last looked at the sweeps' heartbeat. */
  heartbeatReadAt: number;
}

export function createDialerMemory(): DialerMemory {
  return {
    windows: createWindows(),
    backlogsUsedAt: new Map(),
    roundTripsMs: [],
    countedNumbers: new Map(),
    breakersOpened: 0,
    calledUp: new Set(),
    heartbeatReadAt: -Infinity,
  };
}

/** The machine's clock. */
export const systemClock: DialerDeps["clock"] = {
  now: Date.now,
  // No timer for no time: each goes off by itself, which would part calls that share round trips.
  sleep: (ms) => (ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : Promise.resolve()),
};
