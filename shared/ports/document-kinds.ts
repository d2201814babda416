import * as z from "../lib/zod.ts";
import { needsLater, type Unreadable, unreadable, UnreadableError } from "./unreadable.ts";
import { modes } from "../calls/ids.ts";
import { deliveryFields } from "../calls/call-event.ts";
import { dayMs } from "../lib/units.ts";
import { guardKinds } from "./guard-kinds.ts";
import { clientReceiverHealthSchema, receiverKinds } from "./receiver-kinds.ts";
import { splitKinds } from "./split-kinds.ts";
import { sentFileKind } from "./sent-file-kind.ts";
import { tokenKinds } from "./token-kinds.ts";

/** Causes that open a circuit breaker. Their rules: shared/policy/breaker-causes.ts. */
export const breakerCauses = [
  "unreachable",
  "busy",
  "full",
  "account_refused",
  "agent_refused",
  "calls_refused",
  "receiver",
  "check",
  "other",
] as const;
export type BreakerCause = (typeof breakerCauses)[number];

function toCause(name: string): BreakerCause {
  return breakerCauses.find((one) => one === name) ?? "other";
}

const time = z.number();
const counters = z.record(z.string(), z.number());
const position = z.object({ dueAt: time, id: z.string() });
/** Position of a walk through the rows of backlogs. See walk-backlogs.ts. */
const walk = z.object({
  /** The last backlog that was listed; null: none. */
  after: z.nullable(z.string()),
  /** True if no backlog follows it. */
  isLast: z.boolean(),
  /** Backlogs whose rows are being read, each from its position. */
  open: z.array(z.object({ key: z.string(), after: z.optional(position) })),
});

/** The calls that orders end. Strict: a narrower order of a later version must not end more. */
export const cancellableSchema = z.union([
  z.strictObject({ agent: z.string() }),
  z.strictObject({ request: z.string() }),
]);

/** An order to end calls that were accepted up to `at`. */
export const cancellationOrderSchema = z.looseObject({
  /** The client whose calls the order ends. Null: every client's, by an operator. */
  client: z.nullable(z.string()),
  at: time,
  by: z.string(),
  /** The request's calls that the order ends, as index-set.ts encodes them. Null: all of them. */
  indexes: z.nullable(z.string()),
});
export type CancellationOrder = z.infer<typeof cancellationOrderSchema>;

/** An entry of an audit log. */
const auditEntry = z.looseObject({
  at: time,
  /** Id of an operator's token; of a client's, if the action's name says so. */
  by: z.string(),
  action: z.string(),
  /** The call, agent, account or request concerned; never a number. */
  target: z.string(),
  /** Number of calls or numbers concerned. */
  count: z.optional(z.number()),
  /** Number of times that a client did the same within the hour, and the last of them. Absent: once. */
  times: z.optional(z.number()),
  lastAt: z.optional(time),
  /** First digits of the hashes of numbers that were added to the do-not-call list or removed, and a code for why. */
  numbers: z.optional(z.array(z.string())),
  reason: z.optional(z.string()),
  /** The knowledge and rights that the action gives to others: a receiver's URL and echo, a token's rights, agents. */
  exposes: z.optional(
    z.looseObject({
      url: z.optional(z.string()),
      echo: z.optional(z.array(z.string())),
      rights: z.optional(z.array(z.string())),
      agents: z.optional(z.array(z.string())),
    }),
  ),
});

/** Makers of the schemas of values, by kind. Times: milliseconds since the epoch. Unknown fields stay, as changes spread the value. */
const kinds = {
  ...guardKinds,
  ...splitKinds,
  ...sentFileKind,
  ...tokenKinds,
  ...receiverKinds,
  /** Key: client and Idempotency-Key, hashed. Written before the request is sent to the queue. */
  "idempotency-key": () =>
    z.looseObject({
      fingerprint: z.string(),
      requestId: z.string(),
      acceptedAt: time,
    }),
  /** Key: account. The theoretical arrival time (rate.ts) of its next request, in microseconds since the epoch. */
  /** `total`: number of permits taken so far. */
  pace: () => z.looseObject({ arrivalUs: z.number(), total: z.optional(z.number()) }),
  /** Key: part and account. Live calls of an account with `liveCalls`. See live-calls.ts. */
  "live-calls": () =>
    z.looseObject({
      entries: z.array(z.looseObject({ call: z.string(), claim: z.string(), at: time })),
      /** Mean duration of ended calls in milliseconds, weighted to recent ones. Null: none has ended. */
      meanMs: z.nullable(z.number()),
      /** In the first part: number of parts that a limit has needed. Absent: one. */
      parts: z.optional(z.number()),
    }),
  /** Key: account. Its load and speed, as dispatchers and dialers have measured them; absent: not measured yet. */
  account: () =>
    z.looseObject({
      /** True while the account's due rows exceed its allowance. Fresh calls then wait for their turn among them. */
      busy: z.optional(z.boolean()),
      /** True while the account answers, within two seconds on average. */
      quick: z.optional(z.boolean()),
    }),
  /** Key: `dispatcher`. The loop that decides whose turn it is. See functions/dialer/dispatch. */
  dispatcher: () =>
    z.looseObject({
      /** Random name of the running loop. Null: the loop has ended. */
      holder: z.nullable(z.string()),
      since: time,
      beatAt: time,
      /** Time of the last look that succeeded. A dispatcher that fails beats too, when it takes over. */
      tickedAt: z.optional(time),
      /** The running loop's dial plan, by its hash, and when it was read. */
      plan: z.optional(z.looseObject({ hash: z.string(), readAt: time })),
      /** Backlogs of which no row leaves though some are due and allowed, and since when. See waits.ts. */
      waits: z.optional(z.record(z.string(), time)),
      /** By the accounts with rows that are due. */
      accounts: z.record(
        z.string(),
        z.looseObject({
          /** The client served last, and the agent served last of recent clients. The next turns follow them. */
          client: z.string(),
          agents: z.record(z.string(), z.string()),
          /** Time of its last dispatched call. The account that has waited longest goes first. */
          servedAt: z.optional(time),
          /** Calls that ended, by each of the last two looks. */
          completed: z.array(z.number()),
          /** Calls that might go at the last look. */
          allowance: z.number(),
          /** Reason (stands-by.ts) why due calls do not go. Null: they do. */
          why: z.nullable(z.string()),
          /** Calls completed while others waited for the account, and in which time (account-speed.ts). `at`: the last look that counts. */
          speed: z.optional(
            z.looseObject({ calls: z.number(), ms: z.number(), at: z.nullable(time) }),
          ),
          /** Recently dispatched rows that still wait, of an account with a pace: they will take its next permits. */
          sent: z.array(z.object({ id: z.string(), dueAt: time, backlog: z.string(), at: time })),
        }),
      ),
    }),
  /** Key: client, agent and level. Exists as long as calls may wait in the backlog. */
  backlog: () =>
    z.looseObject({
      client: z.string(),
      mode: z._default(z.enum(modes), "live"),
      agentId: z.string(),
      isUrgent: z.optional(z.boolean()),
      /** Time at which a writer of the backlog's rows last renewed the document. Writers do so every 10 s. */
      usedAt: time,
      /** Speed of the answers to its calls; an urgent backlog's stands in the other document of its client and agent. `quick`: within two seconds on average. Null: no answer yet. */
      answers: z._default(z.nullable(z.enum(["quick", "slow"])), null),
    }),
  /** Key: see breakers.ts. A closed breaker has no document, except an account's that lists failing backlogs. */
  breaker: () =>
    z.looseObject({
      state: z.enum(["closed", "open", "half_open"]),
      cause: z.pipe(z.string(), z.transform(toCause)),
      /** The code that opened it. */
      code: z.string(),
      openedAt: time,
      probeAt: time,
      intervalMs: z.number(),
      /** Half-open: calls that may be under way at once. Each success adds one. */
      room: z._default(z.number(), 0),
      /** Calls refused: those that opened it, and each refused probe since. Absent: they are not counted. */
      refused: z.optional(z.number()),
      /** Number of refused probes, and time of the last alarm about them. */
      refusedProbes: z.optional(z.number()),
      alarmedAt: z.optional(time),
      /** Hashes of the backlogs that have failed since the account last answered, in an account's breaker. */
      blamed: z._default(z.array(z.string()), []),
    }),
  /** Counted failures. Key: that of the breaker. */
  counters: () => counters,
  /** Work that one process alone does for some time. Key: its name. */
  lease: () => z.looseObject({}),
  /** Key: receiver. Only the holder of its lease delivers events to it. */
  receiver: () =>
    z.looseObject({
      /** End of the lease; 0: nobody has it. */
      leaseUntil: time,
      /** Earliest time of the next request, by the receiver's pace. */
      nextAt: time,
      /** True if its last answer took more than five seconds. */
      isSlow: z.boolean(),
      /** Failures of a client's own receiver. */
      health: z.optional(clientReceiverHealthSchema),
    }),
  /** Key: the number's hash. Calls that count towards its caps. */
  cap: () =>
    z.looseObject({
      entries: z.array(z.looseObject({ call: z.string(), claim: z.string(), at: time })),
    }),
  /** Key: see controls.ts. An operator's pause of an agent's, an account's or a client's calls. */
  pause: () =>
    z.looseObject({
      of: z.union([
        z.strictObject({ agent: z.string() }),
        z.strictObject({ account: z.string() }),
        z.strictObject({ client: z.string() }),
      ]),
      at: time,
      by: z.string(),
      reason: z.optional(z.string()),
      /** Time at which the pause ends by itself: that at which its document expires. */
      until: z.optional(time),
    }),
  /** Key: the number's hash; with the client behind it, of an entry for that client's calls alone. */
  "do-not-call": () => z.looseObject({ at: time, removals: z.optional(z.int()) }),
  /** Key: the number's hash. The last erasure of what is known of the number. See erase-number.ts. */
  erasure: () =>
    z.looseObject({
      /** Calls that were accepted up to this time are not made, and keep nothing of the number. */
      at: time,
      by: z.string(),
      /** Time at which a sweep looks at the number's rows again. */
      nextAt: time,
    }),
  /** Key: `list`. See controls.ts. */
  "do-not-call-list": () =>
    z.looseObject({
      /** Names of the keys under which entries may stand. */
      keys: z.array(z.string()),
      /** True once there may be entries for one client's calls, or erasures: only then these are read. */
      hasClientEntries: z.optional(z.boolean()),
      /** The key that was current at the last rotation, and since when. Null: there was none. */
      current: z.nullable(z.looseObject({ name: z.string(), since: time })),
    }),
  /** Key: see controls.ts. Orders to end calls of an agent or a request. */
  cancellation: () =>
    z.looseObject({
      of: cancellableSchema,
      orders: z.array(cancellationOrderSchema),
    }),
  /** Key: account and the provider's id of a call. */
  "provider-id": () => z.looseObject({ call: z.string() }),
  /** Key: request. From its first row until `request.finished` is delivered, if the client has a receiver of it. */
  request: () =>
    z.looseObject({
      ...deliveryFields,
      /** True if the dial plan's receiver does not get the event. */
      clientReceiversOnly: z.optional(z.boolean()),
      client: z.string(),
      acceptedAt: time,
      /** Number of the request's calls, and number of finished ones before the first that is not. */
      calls: z.number(),
      finished: z.number(),
      /** Once the request is finished: number of its calls by state and, of those with a result, by result. */
      states: counters,
      results: counters,
      /** Number of its calls whose callee was promised a call-back. Absent: none. */
      promised: z.optional(z.number()),
      /** Time at which the last call was finished. Null: some are not. */
      finishedAt: z.nullable(time),
      /** Time of an operator's replay of `request.finished`. */
      replayedAt: z.optional(time),
    }),
  /** Key: request. Kept for a day after `request.finished` was delivered. `finishedAt`: as in the request's document. */
  "delivered-request": () => z.looseObject({ finishedAt: time }),
  /** Key: time and id. One entry of the audit log: what an operator did. */
  audit: () => auditEntry,
  /** The same of clients. Key: the hour, and a hash of token, action, target and what it exposes; with numbers, time and id. */
  "client-audit": () => auditEntry,
  /** Key: that of an entry of the do-not-call list. The last removal of it, and how many there were. See listing-order.ts. */
  unlisted: () => z.looseObject({ at: time, removals: z.int() }),
  /** Key: hours since the epoch, and an operator's token. Hashes of the numbers that it has looked up in the hour. */
  "look-ups": () => z.looseObject({ numbers: z.array(z.string()) }),
  /** Key: hours since the epoch, client, agent and labels. The outcome of their calls in the hour. See usage.ts. */
  usage: () => counters,
  /** Key: `sweep`. */
  sweep: () =>
    z.looseObject({
      /** Number of sweeps so far. The object store has it, too, which shows if the ledger was restored. */
      epoch: z._default(z.number(), 0),
      /** The object store's epoch as read by the last sweep. */
      epochOutside: z.optional(z.number()),
      /** End of the current sweep's lease. No other sweep runs before then. */
      leaseUntil: time,
      /** Time at which the last full round began. */
      fullRoundAt: time,
      /** Time at which the current round began. A sweep that runs out of time leaves the rest to the next one. */
      roundBeganAt: time,
      /** Cursor in the `watch` backlog; null: its beginning. */
      watchAfter: z.nullable(position),
      /** The receiver of the plan after which the next sweep begins; absent: the first. */
      eventsAfter: z.optional(z.string()),
      /** The client after whose own receivers the next sweep continues; null: the first. */
      clientReceiverEventsAfter: z.optional(z.nullable(z.string())),
      /** Receivers that the plan has, or has had. */
      receivers: z.optional(z.array(z.string())),
      /** Time of the last look at the events of former receivers. */
      orphanedAt: z.optional(time),
      /** Accounts whose calls may keep their numbers after they were placed, and when the plan was last seen to have them. */
      accounts: z.optional(z.record(z.string(), time)),
      /** Backlogs without a route that an alarm has named. */
      routesGone: z.optional(z.array(z.string())),
      /** Sizes of the ledger within the last day, and its maximum; absent where it may grow without end. */
      size: z.optional(
        z.looseObject({
          bytesMax: z.number(),
          samples: z.array(z.object({ at: time, bytes: z.number() })),
        }),
      ),
      /** Time of the last alarm about its size. */
      sizeRaisedAt: z.optional(time),
      /** Time of the last alarm about calls that have been due for long. */
      overdueRaisedAt: z.optional(time),
    }),
  /** Key: the name of a client's own receiver. An order to deliver events to it again. See client-receiver-replays.ts. */
  replay: () =>
    z.looseObject({
      /** The calls that were accepted from `from` up to, and without, `until`. */
      from: time,
      until: time,
      /** The request above the next one, newest first; null: the first. */
      before: z.nullable(z.string()),
      /** Index of the next call of that request. */
      index: z.number(),
    }),
  /** Key: `upkeep`. Cursors of what is done beside sweeps. See upkeep.ts. */
  upkeep: () =>
    z.looseObject({
      /** End of the current lease. No other upkeep runs before then. */
      leaseUntil: time,
      /** Where the visit of all backlogs continues; null: it has ended. */
      walk: z.nullable(walk),
      /** Time at which the last visit of all backlogs began. */
      visitedAt: time,
      /** Number of waiting calls that the visit under way has counted, and the last one's number with its beginning. */
      counted: z.optional(z.number()),
      waiting: z.optional(z.object({ calls: z.number(), at: time })),
      /** Backlogs whose calls have been due longest: as the visit under way has found them, and the last one. Absent: there are few backlogs. */
      dueFound: z.optional(z.array(z.object({ key: z.string(), dueAt: time }))),
      longestDue: z.optional(z.array(z.string())),
      /** The request after which the next one continues; null: the first. */
      requestsAfter: z.nullable(z.string()),
      /** The replay after which the next one continues; null: the first. */
      replaysAfter: z.nullable(z.string()),
      /** The erasure after which the next one continues; null: the first. */
      erasuresAfter: z.nullable(z.string()),
      /** The last part of the journal into which entries were gathered; null: none. */
      journalAfter: z.nullable(z.string()),
      /** Where the purge continues; null: it has ended. */
      purge: z.nullable(
        z.object({
          /** The last row that was looked at; absent: documents follow. */
          row: z.optional(z.string()),
          /** The last document that was looked at. */
          document: z.optional(z.object({ kind: z.string(), key: z.string() })),
        }),
      ),
      /** Times at which the last purge began, and the last one that has ended: until then all was deleted that had expired. */
      purgeBeganAt: time,
      purgedUntil: time,
    }),
  /** Key: `ledger`. The last restore of the ledger to an earlier state. See recover-restore.ts. */
  restore: () =>
    z.looseObject({
      /** `suspended`: nothing is dialed. `confirmed`: an operator has named the time, and sweeps go through the rows. */
      state: z.enum(["suspended", "confirmed", "done"]),
      /** Time at which the restore was noticed or declared. A call that was due or accepted later was not dialed before. */
      since: time,
      /** Epoch that the object store had then. */
      epoch: z.number(),
      /** Time to which the ledger was restored, as the operator says. */
      at: z.nullable(time),
      by: z.nullable(z.string()),
      /** Time at which the operator said so. */
      confirmedAt: z.optional(time),
      /** The last entry of the journal that was applied, and true once all of them are. */
      journalAfter: z.optional(z.string()),
      isJournalDone: z.optional(z.boolean()),
      /** True once all claims and unknown outcomes have been checked; waiting rows follow. */
      isWatchDone: z.boolean(),
      /** The pass through the rows that is under way; absent: the next one begins. */
      pass: z.optional(
        z.object({
          walk,
          /** True if a former pass through the waiting rows, or their beginning, is a sweep ago: indexes may lag. */
          mayEnd: z.boolean(),
          /** Rows that had to be changed, and rows and backlogs that were read. */
          found: z.number(),
          rows: z.number(),
          backlogs: z.number(),
        }),
      ),
      /** Number of rows to be looked up, and of rows to be reviewed. */
      lookedUp: z.number(),
      toReview: z.number(),
    }),
} as const;

export type Kind = keyof typeof kinds;
export type ValueOf<K extends Kind> = z.infer<ReturnType<(typeof kinds)[K]>>;

/** Kinds of documents that have counters alone, to which adapters add in place. */
export const counterKinds = [
  "counters",
  "usage",
  "day-counts",
  "write-counts",
  "gathered",
  "split-results",
] as const satisfies readonly Kind[];
export type CounterKind = (typeof counterKinds)[number];

/** Kinds that are listed: DynamoDB keeps each in one partition, and the do-not-call list in 16. `usage` alone is written often: one partition takes a thousand additions a second. */
export const listedKinds: ReadonlySet<Kind> = new Set<Kind>([
  "backlog",
  "breaker",
  "pause",
  "audit",
  "client-audit",
  "erasure",
  "receivers",
  "replay",
  "request",
  "sweep",
  "usage",
  "client",
  "token",
]);

/** @throws UnreadableError if the value does not fit the kind, or needs what this version does not know: a later version has written it */
export function parseValue<K extends Kind>(kind: K, value: unknown): ValueOf<K> {
  const parsed = z.built<z.ZodMiniType>(kinds[kind]).safeParse(value);
  if (!parsed.success || needsLater(value))
    throw new UnreadableError(`a document of ${kind}`, { cause: parsed.error });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema is that of the kind
  return parsed.data as ValueOf<K>;
}

/** Name of a document: its kind, and its key within the kind. */
export interface DocumentKey<K extends Kind = Kind> {
  kind: K;
  key: string;
}

export interface StoredDocument<K extends Kind = Kind> extends DocumentKey<K> {
  /** Random, fresh with every write. */
  version: string;
  value: ValueOf<K>;
  /** Time from which the document reads as absent, in milliseconds since the epoch. Null: never. */
  expiresAt: number | null;
}

/** A document that was found. Its value is `unreadable` if only a later version can read it. */
export type FoundDocument<K extends Kind = Kind> = Omit<StoredDocument<K>, "value"> & {
  readonly value: ValueOf<K> | Unreadable;
};

/** Documents as read, by kind and key. */
export interface DocumentsRead {
  /** Returns a document, readable or not; undefined: there is none. */
  find<K extends Kind>(kind: K, key: string): FoundDocument<K> | undefined;
  /** @throws UnreadableError for a document that only a later version can read, so that whoever decides by it waits */
  get<K extends Kind>(kind: K, key: string): StoredDocument<K> | undefined;
}

/** A document in an adapter's form: its value is JSON. */
export interface StoredText {
  kind: Kind;
  key: string;
  version: string;
  json: string;
  expiresAt: number | null;
}

/** Returns the expiry of a pace last used for this time: about a day later, in whole days, so that it seldom changes. */
export function paceExpiresAt(permitAt: number): number {
  return (Math.floor(permitAt / dayMs) + 2) * dayMs;
}

/** Returns a stored document of this kind, whose value is parsed when it is first read. */
export function toFound<K extends Kind>(kind: K, stored: StoredText): FoundDocument<K> {
  const { key, version, json, expiresAt } = stored;
  let value: ValueOf<K> | Unreadable | undefined;
  return {
    kind,
    key,
    version,
    expiresAt,
    get value() {
      return (value ??= readValue(kind, json));
    },
  };
}

function readValue<K extends Kind>(kind: K, json: string): ValueOf<K> | Unreadable {
  try {
    return parseValue(kind, JSON.parse(json));
  } catch {
    return unreadable;
  }
}
