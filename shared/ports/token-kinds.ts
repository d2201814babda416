import * as z from "../lib/zod.ts";

const time = z.number();

/** Kinds of documents of clients and tokens that operators make. No call with a token of API_TOKENS has any of them. */
export const tokenKinds = {
  /** Key: its name. See functions/operator/clients.ts. */
  client: () =>
    z.looseObject({
      /** Agents for which its tokens may place calls; `*` is all of them. */
      agents: z.array(z.string()),
      quota: z.nullable(
        z.looseObject({
          callsPerDay: z.optional(z.number()),
          waiting: z.optional(z.number()),
        }),
      ),
      /** Fresh whenever a client of this name is made: tokens of a removed one are not those of the next one. */
      generation: z.string(),
      createdAt: time,
      /** Time of the last change, later than that of each one before. The later of two writes stays. */
      changedAt: time,
      by: z.string(),
      isRemoved: z.boolean(),
    }),
  /** Key: its id. See functions/operator/tokens.ts. */
  token: () =>
    z.looseObject({
      client: z.string(),
      generation: z.string(),
      /** SHA-256 of the whole token, in hex. */
      sha256: z.string(),
      /** Name of the HASH_KEY from which the key of its MAC is derived. */
      keyName: z.string(),
      agents: z.array(z.string()),
      /** Rights that this version does not know give nothing. */
      rights: z.array(z.string()),
      /** True: its calls are tests. */
      isTest: z.boolean(),
      notAfter: z.nullable(time),
      createdAt: time,
      by: z.string(),
      /** Null: nobody has ended it. */
      endedAt: z.nullable(time),
      endedBy: z.nullable(z.string()),
      /** Time of a recent use, at most an hour before the last one. Null: none is known. */
      usedAt: z.nullable(time),
    }),
} as const;
