import * as z from "../lib/zod.ts";

/** Kinds of documents of splits. Only plans with a split have them. */
export const splitKinds = {
  /** Key: the split's name. The round that is under way, with what the plan has said of the split since. */
  split: () =>
    z.looseObject({
      /** Random, made once: callees keep their arms when any other key is rotated. */
      key: z.string(),
      arms: z.record(z.string(), z.number()),
      /** Difference that the split is made to find. It is set before the round's results are known, as it sets the verdict's size. */
      detectPoints: z.optional(z.number()),
      /** Time of the last change of these, in milliseconds since the epoch. */
      since: z.number(),
      /** Results at which the verdict was spoken. Absent: there were too few. */
      verdict: z.optional(
        z.looseObject({
          at: z.number(),
          /** Counters of each arm that had a weight. */
          arms: z.record(z.string(), z.record(z.string(), z.number())),
        }),
      ),
    }),
  /** Key: the split, its round and an arm. Counters of the chains that have ended. See split-rounds.ts. */
  "split-results": () => z.record(z.string(), z.number()),
} as const;
