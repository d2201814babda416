import * as z from "zod";

/**
 * Messages of the events queue. They are hints: the ledger's row says which calls are open, and the provider's
 * record what became of them. Losing or doubling one changes nothing but the time at which a result is known.
 */
export const eventMessageSchema = z.discriminatedUnion("kind", [
  /** An account is asked for the results of its placed calls that are due for it. */
  z.strictObject({ kind: z.literal("ask"), account: z.string() }),
  /** A provider's callback: the record of its call is read. */
  z.strictObject({
    kind: z.literal("callback"),
    /** Name of the account in the dial plan's `providers`. */
    account: z.string(),
    /** The call and the version of its claim, from the address. Absent if a project's callbacks share one address. */
    call: z.strictObject({ id: z.string(), claim: z.string() }).optional(),
    /** The call's id, where such a callback's body names it. */
    callId: z.string().optional(),
    /** The request of a type whose signed body tells the result itself. The dialer verifies it. */
    signed: z
      .strictObject({ body: z.string(), headers: z.record(z.string(), z.string()) })
      .optional(),
  }),
]);

export type EventMessage = z.infer<typeof eventMessageSchema>;
