import * as z from "../lib/zod.ts";

/**
 * Results of placed calls, by their provider's records. `live`: the call rings or is in progress. All others are
 * final. `completed`: answered, as far as the provider says; `declined`: the callee refused; `voicemail`: a machine
 * answered; `failed`: the call never reached the callee; `invalid`: the number does not exist; `blocked`: a carrier
 * or a list refused the call; `unknown`: the provider did not report in time, or by a word without a clear meaning.
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

/** A provider's price of a call. `amount`: decimal, in the currency's unit, at most six digits behind the point. */
const costSchema = z.looseObject({ amount: z.string(), currency: z.string() });

/** The record of one placed call. Times are milliseconds since the epoch. */
export const callResultSchema = z.looseObject({
  status: z.enum(resultStatuses),
  /** True if a person answered, false if a machine did; null unless the provider says. */
  human: z._default(z.nullable(z.boolean()), null),
  /** The provider's word for the end. Null if the provider's table lacks the word. */
  word: z._default(z.nullable(z.string()), null),
  answeredAt: z._default(z.nullable(z.number()), null),
  endedAt: z._default(z.nullable(z.number()), null),
  /** `live`: true if the call was answered, though the provider does not say when. */
  answered: z.optional(z.boolean()),
  /** Length of the conversation in seconds. */
  seconds: z._default(z.nullable(z.number()), null),
  /** Absent unless the record has a price and its currency. */
  cost: z.optional(costSchema),
  /** Time at which the record was read. */
  readAt: z.optional(z.number()),
  /** True if the record says that the callee asked not to be called again. */
  optedOut: z.optional(z.boolean()),
  /** True if the provider's table lacks its word. */
  unmapped: z.optional(z.boolean()),
});
export type CallResult = z.infer<typeof callResultSchema>;
