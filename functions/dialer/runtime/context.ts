import type { Documents } from "#shared/ports/documents.ts";
import type { DeadLetters } from "#shared/ports/dead-letters.ts";
import type { EpochStore } from "#shared/ports/epoch-store.ts";
import type { Journal } from "#shared/ports/journal.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import type { Log } from "#shared/lib/log.ts";
import type { ApiSettings } from "#shared/settings/settings.ts";
import type { DialingProvider } from "#shared/providers/provider.ts";
import type { Route } from "#shared/calls/call-request.ts";
import type { KnownReceivers } from "#shared/events/outbox-ledger.ts";
import type { KnownUsage } from "#shared/policy/usage.ts";
import type { CallQueue } from "#shared/ports/queue.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { Round } from "#shared/policy/split-rounds.ts";
import type { Collector } from "#shared/traces/collector.ts";
import type { AskCheck } from "./ask-check.ts";
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
};

/** A round as a process has read it. */
interface KnownRound {
  round: Round;
  /** The weights under which it was read: a plan's object. */
  arms: object;
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

/** Answer times of an account or a backlog, as measured by this process. */
interface AnswerTimes {
  averageMs: number;
  /** This process's last write of the speed, and its time in milliseconds since the epoch. */
  written?: { isQuick: boolean; at: number };
}

/** State of one process, by what it is of. Losing it costs speed only. */
export interface DialerMemory {
  ledger: {
    /** Time at which a backlog's document was last known to be renewed, by its key. */
    backlogsUsedAt: Map<string, number>;
    /** The latest round trips, in milliseconds, newest last. */
    roundTripsMs: number[];
  };
  breakers: {
    /** Number of changes by this process. Documents read before the last one may be outdated. */
    changed: number;
    /** Hashes of the numbers whose refusals this process has counted, by counter, so that each counts once. */
    countedNumbers: Map<string, Set<string>>;
    /** Times at which this process noted that an agent takes calls, by the note's name. */
    agentsRecordedAt: Map<string, number>;
  };
  /** Average answer times, and the last write of the speed, by account and by backlog. */
  answerTimes: Map<string, AnswerTimes>;
  /** The epoch in the object store, with times in milliseconds since the Unix epoch. */
  epoch: {
    /** The highest that this process has seen. Undefined: it could not yet be read. */
    seen: number | undefined;
    /** Time at which this process last tried to read it. */
    readAt: number;
    /** Time at which that last succeeded. */
    knownAt: number;
    /** Time of the last restore of the ledger that this process knows of. */
    begunAt: number;
    /** Time at which this process last read the sweeps' heartbeat. */
    heartbeatReadAt: number;
  };
  /** Stored dead letters. */
  letters: {
    /** Time before which this process does not list them again: there were none. */
    listAt: number;
    /** Times before which this process does not try them again, by their names. */
    waitUntil: Map<string, number>;
  };
  callbacks: {
    /** Time at which this process last raised an alarm about those that do not verify. */
    unverifiedSaidAt: number;
  };
  documents: {
    /** Backlogs of which this process has said that a document of their calls is unreadable, by their keys. */
    unreadableSaidOf: Set<string>;
    /** True once this process knows of do-not-call entries for one client's calls, or of erasures. */
    hasClientEntries: boolean;
  };
  /** Labels and agents of the hour that have a document of usage. */
  usage: KnownUsage;
  /** Rounds of the plan's splits, by name. */
  rounds: Map<string, KnownRound>;
  /** Clients' own receivers, as this process has read them. */
  knownReceivers: KnownReceivers;
}
