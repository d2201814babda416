import type { Documents } from "../../../shared/ports/documents.ts";
import type { DeadLetters, UnreadLetters } from "../../../shared/ports/dead-letters.ts";
import type { EpochStore } from "../../../shared/policy/controls.ts";
import type { CallLedger } from "../../../shared/ports/ledger.ts";
import type { Log } from "../../../shared/lib/log.ts";
import type { ApiSettings } from "../../../shared/settings/settings.ts";
import type { DialingProvider } from "../../../shared/providers/provider.ts";
import type { Route } from "../../../shared/calls/call-request.ts";
import type { CallQueue } from "../../../shared/ports/queue.ts";
import type { EventMessage } from "../../../shared/ports/event-messages.ts";
import type { PostEvent } from "./post-event.ts";

/** Dependencies of the dialer's core. Settings are parsed at the entries, so they are right here. */
export interface DialerDeps {
  queue: CallQueue;
  /** Queue of callbacks, of accounts to be polled for results, and of events to be delivered. */
  eventsQueue: CallQueue<EventMessage>;
  ledger: CallLedger;
  documents: Documents;
  deadLetters: DeadLetters;
  /** Absent where the dialer itself consumes the dead-letter queues. */
  unreadLetters?: UnreadLetters;
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
  /** Deliveries of the call queue that the platform runs at once. */
  consumers: number;
  /** Maximum new rows a second of one request. Absent: the ledger takes them at any speed. */
  rowsPerSecond?: number;
  /** Limits and habits of dispatchers on this platform. */
  dispatcher: DispatcherTraits;
  /** Starts a dispatcher, which ends at once if another one runs. Absent where one runs at all times. */
  wakeDispatcher?: () => Promise<void>;
  /** Interval between sweeps, in seconds. */
  sweepSeconds: number;
  log: Log;
  /** State that this process keeps between deliveries. */
  memory: DialerMemory;
}

export type DialerSettings = Omit<ApiSettings, "callbackKeyOf"> & {
  providerOf(route: Route): DialingProvider<Route>;
  postEvent: PostEvent;
};

/** Limits and habits of dispatchers on a platform. */
export interface DispatcherTraits {
  /** Time after which the next dispatcher takes over, in milliseconds. */
  lifeMs: number;
  /** Maximum queries of the ledger and the documents in one invocation. */
  queriesMax: number;
  /** Maximum heads of backlogs that are read at a look, besides those of the turns. */
  headsPerLook: number;
  /** True if it ends where nothing is due soon, and is woken; otherwise one runs at all times. */
  endsIdle: boolean;
}

/** Answer times of an account or a backlog, as one process has seen them. */
interface AnswerTimes {
  averageMs: number;
  /** The last thing that this process wrote of it, and its time in milliseconds since the epoch. */
  written?: { isQuick: boolean; at: number };
}

/** State of one process. Losing it costs speed only. */
export interface DialerMemory {
  /** Time at which a backlog's document was last known to be renewed, by its key. */
  backlogsUsedAt: Map<string, number>;
  /** The latest round trips to the ledger, in milliseconds, newest last. */
  roundTripsMs: number[];
  /** Numbers counted for a breaker, by agent, so that a process counts each number once. */
  countedNumbers: Map<string, Set<string>>;
  /** Times at which this process noted that an agent takes calls, by the note's name. */
  agentsNotedAt: Map<string, number>;
  /** Breakers opened or closed by this process. Documents read before the last increment may show them as before. */
  breakersChanged: number;
  /** Average times of answers in milliseconds, and what was written of them, by account and by backlog. */
  answers: Map<string, AnswerTimes>;
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
}
