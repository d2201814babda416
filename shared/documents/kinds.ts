import * as z from "zod";

const time = z.number();
const counters = z.record(z.string(), z.number());

/** The last of some rows that were called up, and until when their hints are on their way. */
const markSchema = z.looseObject({
  dueAt: time,
  id: z.string(),
  /** The moment of its last hint. */
  until: time,
  /** When it was last moved, and when the first of its rows was called up. */
  at: time,
  since: time,
  /** How many of its rows stood when they were last counted. */
  left: z.number(),
});
export type Mark = z.infer<typeof markSchema>;

/**
 * What a document of each kind holds. Times are milliseconds since the epoch. Fields that this version does not know
 * are kept by whoever spreads a value.
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
  /** Key: account. Up to when its calls are called up, as in `pace`. */
  "called-up": z.looseObject({ arrivalUs: z.number() }),
  /** Key: account. What sweeps know of it. */
  account: z.looseObject({
    /** Whether rows remain that have not been called up. */
    rowsRemain: z.boolean(),
    /** The backlog that was served last: the next sweep begins after it. */
    servedLast: z.string(),
    /** When its breaker closed, or it was resumed: marks made before then do not count. */
    restartedAt: time,
    /** Without a pace: how many called-up rows may wait. */
    calledUpMax: z.number(),
  }),
  /** Key: client and agent. Exists as long as calls may wait in it. */
  backlog: z.looseObject({
    client: z.string(),
    agentId: z.string(),
    /** When a row was last about to be written into it, as far as writers say: every 30 minutes. */
    usedAt: time,
    /** When its first row that was not called up is due; null where there is none. */
    nextDueAt: time.nullable(),
    /** When a sweep last looked through all of it. */
    visitedAt: time,
    /** How far rows were called up, and when: a mark tells of the rows up to it that come after the mark before. */
    marks: z.array(markSchema),
  }),
  /** Key: see circuit-breaker.ts. */
  breaker: z.looseObject({
    state: z.enum(["open", "closed"]),
    /** The provider's code that opened it. */
    code: z.string(),
    openedAt: time,
    probeAt: time,
    intervalMs: z.number(),
    closedAt: time,
  }),
  /** Key: as of the breaker. */
  failures: counters,
  /** Key: the number's hash. Calls that count for its caps. */
  cap: z.looseObject({
    entries: z.array(z.looseObject({ call: z.string(), claim: z.string(), at: time })),
  }),
  /** Key: see orders.ts. What an operator keeps waiting. */
  pause: z.looseObject({ at: time, by: z.string() }),
  /** Key: the number's hash. */
  "do-not-call": z.looseObject({ at: time }),
  /** Key: see orders.ts. Ends what was accepted up to `at`. */
  cancellation: z.looseObject({ at: time, by: z.string() }),
  /** Key: account and the provider's id of a call. */
  "provider-id": z.looseObject({ call: z.string() }),
  /** Key: time and id. What an operator did. */
  audit: z.looseObject({
    at: time,
    by: z.string(),
    act: z.string(),
    /** The call, agent, account or request that it was done to; never a number. */
    target: z.string(),
    /** How many it concerned. */
    count: z.number().optional(),
  }),
  /** Key: hours since the epoch. How many calls came into each state, but DIALING. */
  counts: counters,
  /** Key: `sweep`. */
  sweep: z.looseObject({
    /** Nobody else sweeps before then. */
    leaseUntil: time,
    /** When the last full round began. */
    fullRoundAt: time,
    /** When the round under way began; a sweep without time for all of it leaves the rest to the next. */
    roundBeganAt: time,
    /** Where the `watch` backlog is read on; null: from its beginning. */
    watchAfter: z.object({ dueAt: time, id: z.string() }).nullable(),
    /** The backlog to go on after; null: from the first. */
    backlogsAfter: z.string().nullable(),
  }),
} as const;

export type Kind = keyof typeof kinds;
export type ValueOf<K extends Kind> = z.infer<(typeof kinds)[K]>;

/** Kinds that are listed; DynamoDB keeps each in one partition, so they are rarely written. */
export const listedKinds: ReadonlySet<Kind> = new Set<Kind>([
  "account",
  "backlog",
  "breaker",
  "pause",
  "audit",
  "sweep",
]);

/** @throws where the value is not of the kind, as one that a later version wrote may be */
export function parseValue<K extends Kind>(kind: K, value: unknown): ValueOf<K> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema is that of the kind
  return kinds[kind].parse(value) as ValueOf<K>;
}
