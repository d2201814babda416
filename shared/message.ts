import * as z from "zod";
import { acceptedRequestSchema, callSchema } from "./call.ts";
import { settlementSchema } from "./ledger/call-ledger.ts";

/**
 * What travels on the queue. Messages are hints and the ledger's row is the home of a call: once a row
 * exists, losing or doubling a message changes nothing. Strict, so that a field this version does not know
 * (a newer API before its dialer is deployed) makes the message wait instead of being dropped from it.
 */
export const messageSchema = z.discriminatedUnion("kind", [
  /** One accepted call. */
  z.strictObject({ kind: z.literal("call"), call: callSchema }),
  /** The calls of one batch request from `firstIndex` on; their ids follow from `seed` and their index. */
  z.strictObject({
    kind: z.literal("batch"),
    requestId: z.string(),
    client: z.string(),
    acceptedAt: z.number(),
    seed: z.string(),
    firstIndex: z.number(),
    calls: z.array(acceptedRequestSchema),
  }),
  /** The row of this id is due. */
  z.strictObject({ kind: z.literal("due"), id: z.string() }),
  /** A settlement that the ledger would not take at the time. */
  z.strictObject({ kind: z.literal("outcome"), settlement: settlementSchema }),
  /** The clock's minute, or the rest of one: rows after this place are still to be looked at. */
  z.strictObject({
    kind: z.literal("sweep"),
    after: z.strictObject({ dueAt: z.number(), id: z.string() }).optional(),
    /**
     * When the sweep before it was, milliseconds since the epoch, instead of what the ledger says: 0 where the queue
     * has been lost, as that of `npm start` is when it ends, and every row that is due is to be reminded of.
     */
    since: z.number().optional(),
  }),
]);

export type Message = z.infer<typeof messageSchema>;
export type BatchMessage = Extract<Message, { kind: "batch" }>;
