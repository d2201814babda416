import * as z from "../lib/zod.ts";

/** Maximum calls, or requests, of one message that has events told. */
export const deliverCallsMax = 100;

/**
 * Messages of the events queue. But for signed callbacks they are hints: the ledger's row says which calls are open and
 * which events are to be told, and the provider's record what became of a call. Losing or doubling a hint changes
 * nothing but the time at which a result is known or told. A signed callback is the only word of its call's end.
 */
export const eventMessageSchema = z.discriminatedUnion("kind", [
  /** An account is asked for the results of its placed calls that are due for it. `sentAt`: by the sweep of then. */
  z.strictObject({
    kind: z.literal("poll"),
    /** Its name in the dial plan's `providers`. */
    account: z.string(),
    sentAt: z.number(),
    /** The account by its own name, all of whose live calls are asked for: it has as many as it may have. */
    live: z.optional(z.string()),
  }),
  /** Events of these calls and requests are to be told. `sentAt`: it was sent then, or delayed until then. */
  z.strictObject({
    kind: z.literal("deliver"),
    /** Name of the receiver: a key of the dial plan's `events`. */
    receiver: z.string(),
    calls: z._default(z.array(z.string()).check(z.maxLength(deliverCallsMax)), []),
    requests: z._default(z.array(z.string()).check(z.maxLength(deliverCallsMax)), []),
    sentAt: z.number(),
    /** True for a sweep's message: the next sweep sends it again. */
    swept: z._default(z.boolean(), false),
    /** True if it was delivered before, and sent anew: it goes on with what else is due. */
    isAgain: z.optional(z.boolean()),
  }),
  /** A provider's callback: the record of its call is read. */
  z.strictObject({
    kind: z.literal("callback"),
    /** Name of the account in the dial plan's `providers`. */
    account: z.string(),
    /** The call and the version of its claim, from the address. Absent if a project's callbacks share one address. */
    call: z.optional(z.strictObject({ id: z.string(), claim: z.string() })),
    /** The call's id, where such a callback's body names it. */
    callId: z.optional(z.string()),
    /** The request of a type whose signed body tells the result itself. The dialer verifies it. */
    signed: z.optional(
      z.strictObject({
        body: z.string(),
        headers: z.record(z.string(), z.string()),
        /** Its signature is judged as of then, in milliseconds since the epoch. */
        receivedAt: z.number(),
      }),
    ),
  }),
]);

export type EventMessage = z.infer<typeof eventMessageSchema>;

/** True for every message but a signed callback: sweeps do the same without it. */
export function isHint(message: EventMessage): boolean {
  return message.kind !== "callback" || message.signed === undefined;
}
