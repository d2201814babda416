import * as z from "../lib/zod.ts";

/** Maximum calls or requests of one `deliver` message. */
export const deliverCallsMax = 100;

/** Number of times that deliveries have sent the message again, as others kept it waiting. Absent: 0. */
const again = z.optional(z.number());

/** Number of deliveries of the events queue in the chain that has sent the message. Absent: 0. */
const chain = z.optional(z.number());

/**
 * Messages of the events queue. All but signed callbacks are hints: rows show which results are open and which events
 * are pending, and providers' records have the results. Losing or duplicating a hint only changes the time at which a
 * result is known or delivered. A signed callback is the only source of its call's result.
 */
export const eventMessageSchema = z.discriminatedUnion("kind", [
  /** The account's due results are to be polled. `sentAt`: time of the sweep that sent the message. */
  z.strictObject({
    kind: z.literal("poll"),
    /** Name of the account in the dial plan's `providers`. */
    account: z.string(),
    sentAt: z.number(),
    /** True if ended calls of the account await their analyses. */
    analyses: z.optional(z.literal(true)),
    /** Name of the account (`accountNameOf`) whose live calls are all polled, as it has as many as it may have. */
    live: z.optional(z.string()),
    again,
    chain,
  }),
  /** Events of these calls and requests are to be delivered. `sentAt`: time of the sending, or end of the delay. */
  z.strictObject({
    kind: z.literal("deliver"),
    /** Name of the receiver: a key of the dial plan's `events`. */
    receiver: z.string(),
    calls: z._default(z.array(z.string()).check(z.maxLength(deliverCallsMax)), []),
    requests: z._default(z.array(z.string()).check(z.maxLength(deliverCallsMax)), []),
    sentAt: z.number(),
    /** True if a sweep sent the message, in which case the next sweep sends it again. */
    swept: z._default(z.boolean(), false),
    again,
    chain,
  }),
  /** A client wants to try its own receiver: one `receiver.test` is posted. */
  z.strictObject({
    kind: z.literal("test-event"),
    receiver: z.string(),
    /** The event's id. */
    id: z.string(),
    sentAt: z.number(),
    again,
    chain,
  }),
  /** A provider's callback: the record of its call is read. */
  z.strictObject({
    kind: z.literal("callback"),
    again,
    chain,
    /** Name of the account in the dial plan's `providers`. */
    account: z.string(),
    /** The call and the version of its claim, from the URL. Absent if all callbacks of a project have one URL. */
    call: z.optional(
      z.strictObject({ id: z.string(), claim: z.string(), numberHash: z.optional(z.string()) }),
    ),
    /** The call's id, if the body of such a callback names it. */
    callId: z.optional(z.string()),
    /** The request of a provider whose signed body contains the result. The dialer verifies it. */
    signed: z.optional(
      z.strictObject({
        body: z.string(),
        headers: z.record(z.string(), z.string()),
        /** Time as of which the signature is verified, in milliseconds since the epoch. */
        receivedAt: z.number(),
      }),
    ),
  }),
]);

export type EventMessage = z.infer<typeof eventMessageSchema>;

/** True for every message but a signed callback. Sweeps do the work of a lost hint. */
export function isHint(message: EventMessage): boolean {
  return message.kind !== "callback" || message.signed === undefined;
}
