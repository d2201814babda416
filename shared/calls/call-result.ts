import * as z from "../lib/zod.ts";

/**
 * Results of placed calls, as their provider's records tell them. `live`: it rings or is spoken. All others are ends.
 * `completed`: it was answered, as far as the provider says; `declined`: the callee refused it; `voicemail`: a machine
 * answered; `failed`: it never reached the callee; `invalid`: there is no such number; `blocked`: a carrier or a list
 * refused it; `unknown`: the provider did not tell in time, or in a word that is not known here.
 */
export const resultStatuses = [
  "live",
  "completed",
  "no_answer",
  "busy",
  "declined",
  "voicemail",
  "failed",
  "invalid",
  "blocked",
  "unknown",
] as const;
export type ResultStatus = (typeof resultStatuses)[number];

/** The record of one placed call. Times are milliseconds since the epoch. */
export const callResultSchema = z.looseObject({
  status: z.enum(resultStatuses),
  /** True if a person answered, false if a machine did; null unless the provider says. */
  human: z._default(z.nullable(z.boolean()), null),
  /** The provider's own word for the end, from its type's table. Null if the table lacks it. */
  word: z._default(z.nullable(z.string()), null),
  answeredAt: z._default(z.nullable(z.number()), null),
  endedAt: z._default(z.nullable(z.number()), null),
  /** `live`: true if it was answered, though the provider does not say when. */
  answered: z.optional(z.boolean()),
  /** Length of the conversation in seconds. */
  seconds: z._default(z.nullable(z.number()), null),
  /** Time at which the record was read. */
  readAt: z.optional(z.number()),
  /** True if the provider used a word that its type's table lacks. */
  unmapped: z.optional(z.boolean()),
});
export type CallResult = z.infer<typeof callResultSchema>;
