import type { Documents } from "#shared/ports/documents.ts";
import type { DeadLetters } from "#shared/ports/dead-letters.ts";
import type { EpochStore } from "#shared/ports/epoch-store.ts";
import type { Journal } from "#shared/ports/journal.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import type { Log } from "#shared/lib/log.ts";
import type { ApiSettings } from "#shared/settings/settings.ts";
import type { DialingProvider } from "#shared/providers/provider.ts";
import type { Route } from "#shared/calls/call-request.ts";
import type { CallQueue } from "#shared/ports/queue.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { Collector } from "#shared/traces/collector.ts";
import type { AskCheck } from "./ask-check.ts";
import type { DialerMemory } from "./memory.ts";
import type { UsageStep } from "#shared/policy/usage-ends.ts";
import type { PostEvent } from "./post-event.ts";

/** Dependencies of the dialer's core, with valid settings. */
export interface DialerDeps {
  queue: CallQueue;
  /** Queue of callbacks, polls for results, and events to be delivered. */
  eventsQueue: CallQueue<EventMessage>;
  ledger: CallLedger;
  /** Reads the ledger's size. Absent where it may grow without end. */
  ledgerSize?: () => Promise<{ bytes: number; bytesMax: number }>;
  documents: Documents;
  /** Counts steps of calls within a second, together with others. Absent where they are counted at once. */
  countLater?: (steps: readonly UsageStep[]) => void;
  /** Returns how many statements the current invocation may still send to the ledger and the documents. */
  statementsLeft(): number;
  /**
   * True where the documents are one engine, as D1 is: a statement then hangs or fails for all of them alike, so the calls
   * of a delivery share theirs. Default: false.
   */
  sharesStatements?: boolean;
  deadLetters: DeadLetters;
  /** Keeps changes that a restore of the ledger must not undo. */
  journal: Journal;
  /** Stores the epoch of the ledger outside of it: a ledger restored from a backup is behind. */
  epochStore: EpochStore;
  settings: DialerSettings;
  clock: {
    /** Current time in milliseconds since the epoch. */
    now(): number;
    sleep(ms: number): Promise<void>;
  };
  random: {
    /** Returns a fresh version of a row or document: 20 random hex digits. */
    version(): string;
    /** Random number, 0 ≤ fraction < 1. */
    fraction(): number;
  };
  /** Maximum requests to providers under way in one delivery. */
  concurrency: number;
  /** Number of concurrent deliveries of the call queue on the platform. */
  consumers: number;
  /** Maximum new rows a second of one request. Absent: no limit. */
  rowsPerSecond?: number;
  /** Limits and behaviour of dispatchers on this platform. */
  dispatcher: DispatcherTraits;
  /** Starts a dispatcher, which ends at once if another one runs. Absent if a dispatcher always runs. */
  wakeDispatcher?: () => Promise<void>;
  /** Interval between sweeps, in seconds. */
  sweepSeconds: number;
  log: Log;
  /** State that this process keeps between deliveries. */
  memory: DialerMemory;
}

/** Ports of whoever writes rows: their new events, and the counts of usage, are written with them. */
export type RowDeps = Pick<
  DialerDeps,
  "ledger" | "documents" | "settings" | "clock" | "random" | "log" | "memory"
>;

/** Ports of whoever decides calls: the plan, and the documents that apply to them. */
export type DecisionDeps = Pick<
  DialerDeps,
  "documents" | "epochStore" | "settings" | "clock" | "concurrency" | "log" | "memory"
>;

export type DialerSettings = Omit<ApiSettings, "callbackKeyOf" | "eventsKeys" | "hashes"> & {
  providerOf(route: Route): DialingProvider<Route>;
  postEvent: PostEvent;
  /** Absent if the plan has no checks. */
  askCheck?: AskCheck;
  /** Absent if the plan has no traces. */
  collector?: Collector;
  planRead: PlanRead;
};

/** Hash of a dial plan, and the time at which it was read, in milliseconds since the epoch. */
export interface PlanRead {
  hash: string;
  readAt: number;
}

/** Limits and behaviour of dispatchers on a platform. */
export interface DispatcherTraits {
  /** Time after which the next dispatcher takes over, in milliseconds. */
  lifeMs: number;
  /** Maximum heads of backlogs that one look reads, besides those of the turns. */
  headsPerLook: number;
  /** True if a dispatcher ends when nothing is due soon, and is woken. Otherwise one always runs. */
  endsIdle: boolean;
}
