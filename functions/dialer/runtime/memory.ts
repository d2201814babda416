import type { KnownReceivers } from "#shared/events/outbox-ledger.ts";
import type { Round } from "#shared/policy/split-rounds.ts";
import type { KnownUsage } from "#shared/policy/usage.ts";

/** A round as a process has read it. */
interface KnownRound {
  round: Round;
  /** The weights under which it was read: a plan's object. */
  arms: object;
  readAt: number;
}

/** Answer times of an account or a backlog, as measured by this process. */
interface AnswerTimes {
  averageMs: number;
  /** This process's last write of the speed, and its time in milliseconds since the epoch. */
  written?: { isQuick: boolean; at: number };
}

/** Calls of a paced account that a process has claimed and not yet sent. */
export interface PacedClaims {
  /** Maximum of them, and the time at which it last became less; 0: never. */
  atOnce: number;
  reducedAt: number;
  /** Time at which a call last missed its permit in the wait for a connection. */
  crowdedAt: number;
  /** Deliveries with calls of the account, the oldest first. */
  deliveries: Set<PacedCalls>;
}

/** A delivery's calls of a paced account: those that claim, and those of them whose requests are under way. */
export interface PacedCalls {
  left: number;
  sending: number;
  /** End of the invocation, in milliseconds since the epoch: later nobody ends them. */
  until: number;
}

/** Permits of an account's pace as this process has taken and used them. Times are milliseconds since the epoch. */
export interface PermitUse {
  /** Times at which its requests of the last second left, or will leave. */
  leftAt: number[];
  /** Its takes of the last seconds: the time of their first permit, their permits, and those of all processes by then. */
  takes: { firstAt: number; count: number; total: number }[];
  /** Permits taken ahead that no call has yet, and the time at which the last ones were asked for. */
  spare: number[];
  aheadAt: number;
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
    /** Hashes of the numbers whose refusals this process has counted, by counter, so that each counts once. */
    countedNumbers: Map<string, Set<string>>;
    /** Times at which this process noted that an agent takes calls, by the note's name. */
    agentsRecordedAt: Map<string, number>;
  };
  /** Average answer times, and the last write of the speed, by account and by backlog. */
  answerTimes: Map<string, AnswerTimes>;
  /** Claims of accounts with a pace, by account. */
  paced: Map<string, PacedClaims>;
  /** Permits of accounts with a pace, by account. */
  permits: Map<string, PermitUse>;
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
    /** Time at which an account's records last did not answer soon, by account. */
    slowAt: Map<string, number>;
  };
  documents: {
    /** Number of changes by this process of what controls calls. Documents read before the last one may be outdated. */
    changed: number;
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

/** Returns the memory of a process that has just started. */
export function createDialerMemory(): DialerMemory {
  return {
    ledger: { backlogsUsedAt: new Map(), roundTripsMs: [] },
    breakers: { countedNumbers: new Map(), agentsRecordedAt: new Map() },
    answerTimes: new Map(),
    paced: new Map(),
    permits: new Map(),
    epoch: {
      seen: undefined,
      readAt: -Infinity,
      knownAt: -Infinity,
      begunAt: 0,
      heartbeatReadAt: -Infinity,
    },
    letters: { listAt: -Infinity, waitUntil: new Map() },
    callbacks: { unverifiedSaidAt: -Infinity, slowAt: new Map() },
    documents: { changed: 0, unreadableSaidOf: new Set(), hasClientEntries: false },
    usage: new Map(),
    rounds: new Map(),
    knownReceivers: new Map(),
  };
}
