import * as z from "../lib/zod.ts";
import { deliveryFields } from "../calls/call-event.ts";
import { dayMs } from "../lib/units.ts";

/** Causes that open a circuit breaker; their rules stand in shared/policy/breaker-causes.ts. */
export const breakerCauses = [
  "unreachable",
  "busy",
  "full",
  "account_refused",
  "agent_refused",
  "calls_refused",
  "receiver",
] as const;
export type BreakerCause = (typeof breakerCauses)[number];

const time = z.number();
const counters = z.record(z.string(), z.number());

/** An order to end calls that were accepted up to `at`. */
const cancellationOrderSchema = z.looseObject({
  /** The client whose calls alone it ends. Null: an operator's order, which ends those of every client. */
  client: z.nullable(z.string()),
  at: time,
  by: z.string(),
  /** The calls of the request that it ends, in the form of index-set.ts. Null: all of them. */
  indexes: z.nullable(z.string()),
});
export type CancellationOrder = z.infer<typeof cancellationOrderSchema>;

/**
 * Schemas of the documents' values, by kind. Times are milliseconds since the epoch. Fields unknown to this
 * version are kept, as every change spreads the value.
 */
const kinds = {
  /** Key: client and Idempotency-Key, hashed. Written before the send. */
  "idempotency-key": z.looseObject({
    fingerprint: z.string(),
    requestId: z.string(),
    acceptedAt: time,
  }),
  /** Key: account. The theoretical arrival time of its next request, in microseconds. */
  pace: z.looseObject({ arrivalUs: z.number() }),
  /** Key: part and account. Calls of an account with `liveCalls` that are being dialed or under way. See live-calls.ts. */
  "live-calls": z.looseObject({
    entries: z.array(
      /** `endsAt`: from then on it counts no more, whatever is known of the call. */
      z.looseObject({ call: z.string(), claim: z.string(), at: time, endsAt: time }),
    ),
    /** Mean duration of the calls that have left, those of late more than others, in milliseconds. Null: none has. */
    meanMs: z.nullable(z.number()),
  }),
  /** Key: account. How it takes calls, as dispatchers and dialers have seen it. */
  account: z.looseObject({
    /** True while its due rows exceed its allowance: fresh calls then wait for their turn among them. */
    busy: z.boolean(),
    /** True while it has answered, and within two seconds on average. */
    quick: z.boolean(),
  }),
  /** Key: `dispatcher`. The loop that decides whose turn it is. See functions/dialer/dispatch. */
  dispatcher: z.looseObject({
    /** Random name of the loop that runs; null: it has ended. */
    holder: z.nullable(z.string()),
    since: time,
    beatAt: time,
    /** By the accounts with rows that are due. */
    accounts: z.record(
      z.string(),
      z.looseObject({
        /** The client that was served last, and each client's agent, of the latest ones. The turns go on behind them. */
        client: z.string(),
        agents: z.record(z.string(), z.string()),
        /** Calls that were seen to end in each of the last two looks. */
        completed: z.array(z.number()),
        /** Calls that it might be dispatched at the last look. */
        allowance: z.number(),
        /** Why it stands still; null: it does not. */
        why: z.nullable(z.string()),
        /** Rows that were dispatched last and still stand, of an account with a pace: they hold its next moments. */
        sent: z.array(z.object({ id: z.string(), dueAt: time, backlog: z.string(), at: time })),
      }),
    ),
  }),
  /** Key: client and agent. Exists as long as calls may wait in it. */
  backlog: z.looseObject({
    client: z.string(),
    agentId: z.string(),
    /** Time at which a writer last announced rows for it. Writers renew it every 10 s. */
    usedAt: time,
    /** The speed of its answers: within two seconds on average, or not. Null: none has been answered yet. */
    answers: z._default(z.nullable(z.enum(["quick", "slow"])), null),
  }),
  /** Key: see breakers.ts. A breaker that is closed has none, but for an account's that notes who is in trouble. */
  breaker: z.looseObject({
    state: z.enum(["closed", "open", "half_open"]),
    cause: z.enum(breakerCauses),
    /** The code that opened it. */
    code: z.string(),
    openedAt: time,
    probeAt: time,
    intervalMs: z.number(),
    /** Half-open: calls that may be under way at once. Each success doubles it. */
    room: z._default(z.number(), 0),
    /** An account's: the backlogs that have failed since the account was last answered, hashed. */
    blamed: z._default(z.array(z.string()), []),
  }),
  /** Key: that of the breaker. */
  failures: counters,
  /** Key: receiver. Only the delivery that has its lease tells it. */
  receiver: z.looseObject({
    /** End of the lease; 0: nobody has it. */
    heldUntil: time,
    /** Earliest time of the next request, by its pace. */
    nextAt: time,
    /** True if its last answer took more than five seconds. */
    isSlow: z.boolean(),
  }),
  /** Key: the number's hash. Calls that count towards its caps. */
  cap: z.looseObject({
    entries: z.array(z.looseObject({ call: z.string(), claim: z.string(), at: time })),
  }),
  /** Key: see controls.ts. An operator's pause of an agent's or an account's calls. */
  pause: z.looseObject({
    of: z.union([z.object({ agent: z.string() }), z.object({ account: z.string() })]),
    at: time,
    by: z.string(),
  }),
  /** Key: the number's hash. */
  "do-not-call": z.looseObject({ at: time }),
  /** Key: see controls.ts. Orders to end calls of an agent or a request. */
  cancellation: z.looseObject({
    of: z.union([z.object({ agent: z.string() }), z.object({ request: z.string() })]),
    orders: z.array(cancellationOrderSchema),
  }),
  /** Key: account and the provider's id of a call. */
  "provider-id": z.looseObject({ call: z.string() }),
  /** Key: request. Stands from its first row until its `request.finished` is told, where somebody is told of it. */
  request: z.looseObject({
    ...deliveryFields,
    client: z.string(),
    acceptedAt: time,
    /** Number of its calls, and number of those, from the first one on, that are over. */
    calls: z.number(),
    finished: z.number(),
    /** Once it is finished: number of its calls by state and, of those with a result, by its status. */
    states: counters,
    results: counters,
    /** Time at which the last one was over. Null: some are not. */
    finishedAt: z.nullable(time),
    /** Time at which an operator had it told anew. */
    replayedAt: z.optional(time),
  }),
  /** Key: request. Says for a day that its `request.finished` is told. `finishedAt`: as its document had it. */
  "delivered-request": z.looseObject({ finishedAt: time }),
  /** Key: time and id. One entry of the audit log. */
  audit: z.looseObject({
    at: time,
    /** Id of an operator's token; of a client's, if the act's name says so. */
    by: z.string(),
    action: z.string(),
    /** The call, agent, account or request concerned; never a number. */
    target: z.string(),
    /** Number of calls concerned. */
    count: z.optional(z.number()),
  }),
  /** Key: hours since the epoch. Number of calls that reached each state, except DIALING. */
  counts: counters,
  /** Key: `sweep`. */
  sweep: z.looseObject({
    /** Number of sweeps so far. The object store keeps it too, so that a ledger that went back is seen. */
    epoch: z._default(z.number(), 0),
    /** The object store's epoch, as the last sweep read it before it moved on. */
    epochOutside: z.optional(z.number()),
    /** End of the current sweep's lease. No other sweep runs before then. */
    leaseUntil: time,
    /** Time at which the last full round began. */
    fullRoundAt: time,
    /** Time at which the current round began. A sweep that runs out of time leaves the rest to the next one. */
    roundBeganAt: time,
    /** Cursor in the `watch` backlog; null: its beginning. */
    watchAfter: z.nullable(z.object({ dueAt: time, id: z.string() })),
    /** The backlog after which the next sweep continues; null: the first. */
    backlogsAfter: z.nullable(z.string()),
    /** Time at which the last visit of all backlogs began. */
    visitedAt: z._default(time, 0),
    /** The request after which the next sweep continues; null: the first. */
    requestsAfter: z._default(z.nullable(z.string()), null),
    /** Receivers that the plan has, or has had. */
    receivers: z.optional(z.array(z.string())),
    /** Time of the last look at the events of former receivers. */
    orphanedAt: z.optional(time),
  }),
  /** Key: `ledger`. The last time that the ledger was restored to an earlier state. See restore.ts. */
  restore: z.looseObject({
    /** held: nothing is dialed; confirmed: an operator has named the time, and sweeps go through the rows. */
    state: z.enum(["suspended", "confirmed", "done"]),
    /** Time at which it was noticed or declared. What was due or accepted later was not dialed before. */
    since: time,
    /** Epoch that the object store had then. */
    epoch: z.number(),
    /** The time to which the ledger went back, by the operator. */
    at: z.nullable(time),
    by: z.nullable(z.string()),
    /** True once all claims and unknown outcomes have been gone through; waiting rows follow. */
    isWatchDone: z.boolean(),
    /** Number of rows that are looked up, and that wait for review. */
    lookedUp: z.number(),
    toReview: z.number(),
  }),
} as const;

export type Kind = keyof typeof kinds;
export type ValueOf<K extends Kind> = z.infer<(typeof kinds)[K]>;

/**
 * Kinds that are listed. DynamoDB keeps each in one partition, which takes a thousand writes a second, so they must be
 * written rarely.
 */
export const listedKinds: ReadonlySet<Kind> = new Set<Kind>([
  "backlog",
  "breaker",
  "pause",
  "audit",
  "request",
  "sweep",
]);

/** @throws if the value does not fit the kind, as one written by a later version may not */
export function parseValue<K extends Kind>(kind: K, value: unknown): ValueOf<K> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema is that of the kind
  return kinds[kind].parse(value) as ValueOf<K>;
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
  /** Milliseconds since the epoch, from which on the document reads as absent. Null: never. */
  expiresAt: number | null;
}

/** Documents as read, by kind and key. */
export interface DocumentsRead {
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

/**
 * Returns the expiry of a pace last used for this time: about a day later, in whole days, so that it seldom
 * changes.
 */
export function paceExpiresAt(permitAt: number): number {
  return (Math.floor(permitAt / dayMs) + 2) * dayMs;
}

/** Parses a stored document of this kind. @throws if its value does not fit the kind */
export function toDocument<K extends Kind>(kind: K, stored: StoredText): StoredDocument<K> {
  const { key, version, json, expiresAt } = stored;
  return { kind, key, version, value: parseValue(kind, JSON.parse(json)), expiresAt };
}

/** Wraps the documents that an adapter has read, and parses each value by its kind. */
export function toDocumentsRead(found: readonly StoredText[]): DocumentsRead {
  const byName = new Map(found.map((one) => [`${one.kind} ${one.key}`, one]));
  return {
    get(kind, key) {
      const one = byName.get(`${kind} ${key}`);
      return one === undefined ? undefined : toDocument(kind, one);
    },
  };
}
