import * as z from "../lib/zod.ts";

/** Kind of documents that remember which files of leads were sent. No call has any of them. */
export const sentFileKind = {
  /**
   * Key: client and file, hashed under HASH_KEY: whoever reads the ledger cannot find a number by trying. See
   * functions/api/requests/sent-files.ts.
   */
  "sent-file": () =>
    z.looseObject({
      client: z.string(),
      campaign: z.string(),
      /** Number of times that the file was sent, from 1. */
      round: z.number(),
      /** Time at which this round began. */
      at: z.number(),
      parts: z.array(
        z.looseObject({
          /** The Idempotency-Key of its request: a hash under HASH_KEY of its numbers, client, campaign and round. */
          key: z.string(),
          calls: z.number(),
          /** Time before which its request was certainly not sent. Null: nobody has begun it. */
          begunAt: z.nullable(z.number()),
          /** Leads that its request leaves out, by their index in the part, as index-set.ts encodes them. */
          leftOut: z.string(),
          /** Hash under HASH_KEY of the body of its request. */
          content: z.nullable(z.string()),
          /** Name of the sender's run that begun it, which says if its one request was refused. Null: there may be others. */
          attempt: z.nullable(z.string()),
          isSent: z.boolean(),
          /** The `X-Request-Id` of its 201. Null: none is known. */
          requestId: z.nullable(z.string()),
        }),
      ),
    }),
} as const;
