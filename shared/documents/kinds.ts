import { tellingFields } from "../calls/call-event.ts";
import * as z from "../platform/zod.ts";

const time = z.number();
const counters = z.record(z.string(), z.number());

/** The last of several rows that were called up, and the time until which their hints are under way. */
const markSchema = z.looseObject({
  dueAt: time,
  id: z.string(),
  /** Time of the mark's last hint. */
  until: time,
  /** Time of the mark's last move, and time at which the first of its rows was called up. */
  at: time,
  since: time,
  /** Number of the mark's rows that stood when they were last counted. */
  left: z.number(),
  /** Its latest former positions, oldest first, and the time of the read before each: later rows behind it were not seen. */
  former: z._default(z.array(z.looseObject({ dueAt: time, id: z.string(), at: time })), []),
});
export type Mark = z.infer<typeof markSchema>;

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
  /** Key: account. The time up to which its calls are called up, in the form of `pace`. */
  "called-up": z.looseObject({ arrivalUs: z.number() }),
  /** Key: account. The sweeps' state of the account. */
  account: z.looseObject({
    /** True if rows remain that have not been called up. */
    rowsRemain: z.boolean(),
    /** The backlog that was served last. The next sweep begins after it. */
    servedLast: z.string(),
    /** Time at which its breaker closed or it was resumed. Marks made before then do not count. */
    restartedAt: time,
    /** Maximum called-up rows that may wait for an account without a pace. */
    calledUpMax: z.number(),
  }),
  /** Key: client and agent. Exists as long as calls may wait in it. */
  backlog: z.looseObject({
    client: z.string(),
    agentId: z.string(),
    /** Time at which a writer last announced rows for it. Writers renew it every 30 minutes. */
    usedAt: time,
    /** Due time of its first row that was not called up, or null if there is none. */
    nextDueAt: z.nullable(time),
    /** Time at which a sweep last looked through all of it. */
    visitedAt: time,
    /** Positions up to which rows were called up. A mark covers the rows between the former mark and itself. */
    marks: z.array(markSchema),
  }),
  /** Key: see breakers.ts. */
  breaker: z.looseObject({
    state: z.enum(["open", "closed"]),
    /** The provider's code that opened it. */
    code: z.string(),
    openedAt: time,
    probeAt: time,
    intervalMs: z.number(),
    closedAt: time,
  }),
  /** Key: that of the breaker. */
  failures: counters,
  /** Key: the number's hash. Calls that count towards its caps. */
  cap: z.looseObject({
    entries: z.array(z.looseObject({ call: z.string(), claim: z.string(), at: time })),
  }),
  /** Key: see orders.ts. An operator's pause of an agent's or an account's calls. */
  pause: z.looseObject({
    of: z.union([z.object({ agent: z.string() }), z.object({ account: z.string() })]),
    at: time,
    by: z.string(),
  }),
  /** Key: the number's hash. */
  "do-not-call": z.looseObject({ at: time }),
  /** Key: see orders.ts. Orders to end calls of an agent or a request. */
  cancellation: z.looseObject({
    of: z.union([z.object({ agent: z.string() }), z.object({ request: z.string() })]),
    orders: z.array(cancellationOrderSchema),
  }),
  /** Key: account and the provider's id of a call. */
  "provider-id": z.looseObject({ call: z.string() }),
  /** Key: request. Stands from its first row until its `request.finished` is told, where somebody is told of it. */
  request: z.looseObject({
    ...tellingFields,
    client: z.string(),
    acceptedAt: time,
    /** Number of its calls, and number of those, from the first one on, that are over. */
    calls: z.number(),
    over: z.number(),
    /** Number of the calls that are over by state and, of those with a result, by its status. */
    states: counters,
    results: counters,
    /** Time at which the last one was over. Null: some are not. */
    finishedAt: z.nullable(time),
    /** Time at which an operator had it told anew. */
    replayedAt: z.optional(time),
  }),
  /** Key: request. Says for a day that its `request.finished` is told. `finishedAt`: as its document had it. */
  "told-request": z.looseObject({ finishedAt: time }),
  /** Key: time and id. One entry of the audit log. */
  audit: z.looseObject({
    at: time,
    /** Id of an operator's token; of a client's, if the act's name says so. */
    by: z.string(),
    act: z.string(),
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
    /** The request after which the next sweep continues; null: the first. */
    requestsAfter: z._default(z.nullable(z.string()), null),
    /** Receivers that the plan has, or has had. */
    receivers: z.optional(z.array(z.string())),
    /** Time of the last look at the events of former receivers. */
    strandedAt: z.optional(time),
  }),
  /** Key: `ledger`. The last time that the ledger was restored to an earlier state. See restore.ts. */
  restore: z.looseObject({
    /** held: nothing is dialed; confirmed: an operator has named the time, and sweeps go through the rows. */
    state: z.enum(["held", "confirmed", "done"]),
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
  "account",
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
