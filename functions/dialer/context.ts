import type { Documents } from "../../shared/documents/documents.ts";
import type { EpochStore } from "../../shared/documents/restore.ts";
import type { CallLedger } from "../../shared/ledger/call-ledger.ts";
import type { Log } from "../../shared/platform/log.ts";
import type { ApiSettings } from "../../shared/platform/settings.ts";
import type { DialingProvider } from "../../shared/providers/dialing-provider.ts";
import type { Route } from "../../shared/providers/index.ts";
import type { CallQueue } from "../../shared/queue/call-queue.ts";
import type { EventMessage } from "../../shared/queue/event-messages.ts";
import type { Windows } from "./delivery/window.ts";
import type { PostEvent } from "./events/post-event.ts";

/** Dependencies of the dialer's core. Settings are parsed at the entries, so they are right here. */
export interface DialerDeps {
  queue: CallQueue;
  /** Queue of callbacks, of calls whose provider is to be asked, and of events that are to be told. */
  eventsQueue: CallQueue<EventMessage>;
  ledger: CallLedger;
  documents: Documents;
  /** Stores a message that could not be read or written, whole, for 28 days. */
  deadLetters: { store(name: string, body: string): Promise<void> };
  /** Keeps the epoch of the ledger outside of it: a ledger restored from a backup is behind. */
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
  /** Interval between sweeps, in seconds. */
  sweepSeconds: number;
  log: Log;
  /** State that this process keeps between deliveries. */
  memory: DialerMemory;
}

export type DialerSettings = ApiSettings & {
  providerOf(route: Route): DialingProvider<Route>;
  postEvent: PostEvent;
};

/** State of one process. Losing it costs speed only. */
export interface DialerMemory {
  windows: Windows;
  /** Time at which a backlog's document was last known to be renewed, by its key. */
  backlogsUsedAt: Map<string, number>;
  /** The latest round trips to the ledger, in milliseconds, newest last. */
  roundTripsMs: number[];
  /** Numbers counted for a breaker, by agent, so that a process counts each number once. */
  countedNumbers: Map<string, Set<string>>;
  /** Breakers opened by this process. Documents read before the last increment may show them closed. */
  breakersOpened: number;
  /** Time at which this process last read the sweeps' heartbeat, in milliseconds since the epoch. */
  heartbeatReadAt: number;
  /** Highest epoch that this process has seen in the object store. Undefined: it could not yet be read. */
  epochSeen: number | undefined;
  /** The last restore of the ledger that this process knows of, in milliseconds since the epoch of Unix. */
  restoredAt: number;
  /** Time at which this process last read the object store's epoch, in milliseconds since the epoch of Unix. */
  epochReadAt: number;
  /** Time at which it last succeeded. */
  epochKnownAt: number;
  /** Time at which this process last raised an alarm about callbacks that do not verify. */
  unverifiedSaidAt: number;
  /** Time until which a receiver of events counts as slow, by its name. */
  slowReceivers: Map<string, number>;
}
