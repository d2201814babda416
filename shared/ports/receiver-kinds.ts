import * as z from "../lib/zod.ts";

const time = z.number();

/** Maximum receivers that a client may have beside the dial plan's. */
export const clientReceiversMax = 5;

/** A name that a client may give its receiver. */
export const clientReceiverNamePattern = /^[a-z0-9][a-z0-9_-]{0,31}$/;

/**
 * A receiver that a client has made itself. What a client may send is checked by the API alone: a receiver that a later
 * version permits must not make the others of its client unreadable.
 */
export const clientReceiverSchema = z.looseObject({
  url: z.string(),
  /** Types that this version does not know give nothing. Absent: all. */
  types: z.optional(z.array(z.string())),
  /** Keys of a call's context that its events repeat. */
  echo: z._default(z.array(z.string()), []),
  requestsPerSecond: z._default(z.number(), 20),
  /** Number of its secret, and the time of its last rotation. See client-receiver-secrets.ts. */
  secretGeneration: z.number(),
  rotatedAt: z.optional(time),
  /** Name (`nameOfKey`) of the EVENTS_KEY that the secret was derived from when its client was shown it. */
  secretKey: z.optional(z.string()),
  /** Time at which its client last asked for a replay. */
  replayedAt: z.optional(time),
  /** The receiver gets no event of an earlier time, so that a new one gets nothing of a removed one of its name. */
  createdAt: time,
});
export type StoredReceiver = z.infer<typeof clientReceiverSchema>;

/** Kinds of documents of clients' own receivers. No call has any of them unless its client has made a receiver. */
export const receiverKinds = {
  /** Key: client, as its tokens name it. Its receivers by name. */
  receivers: () => z.looseObject({ receivers: z.record(z.string(), clientReceiverSchema) }),
  /** Key: `clientReceiverName`. The latest tries to deliver events to the receiver, the newest first. */
  deliveries: () =>
    z.looseObject({
      /** Number of the next try. */
      next: z.number(),
      tries: z.array(
        z.looseObject({
          n: z.number(),
          at: time,
          event: z.string(),
          type: z.string(),
          /** Number of the try of its event, from 1. */
          try: z.number(),
          ms: z.number(),
          /** Status of the answer. Absent: there was none, and `error` says why. */
          status: z.optional(z.number()),
          error: z.optional(z.string()),
        }),
      ),
    }),
} as const;

/** Failures of a client's own receiver, as its lease's document keeps them. Absent: it takes its events. */
export const clientReceiverHealthSchema = z.looseObject({
  /** Number of failures in a row. */
  failures: z.number(),
  /** Time of the next probe, and the time between the last two. Absent: it is not down. */
  probeAt: z.optional(time),
  intervalMs: z.optional(time),
});
export type ClientReceiverHealth = z.infer<typeof clientReceiverHealthSchema>;

const prefix = "own:";

/** A client's own receiver, by the client as its tokens name it and the name that it gave. */
export interface ClientReceiverKey {
  client: string;
  name: string;
}

/** Names a client's own receiver among all receivers. No receiver of the dial plan has such a name. */
export function clientReceiverName({ client, name }: ClientReceiverKey): string {
  return `${prefix}${client}/${name}`;
}

/** Parses a name that `clientReceiverName` made. Undefined: it is a receiver of the dial plan. */
export function parseClientReceiver(full: string): ClientReceiverKey | undefined {
  if (!full.startsWith(prefix)) return undefined;
  const end = full.lastIndexOf("/");
  return { client: full.slice(prefix.length, end), name: full.slice(end + 1) };
}
