import * as z from "zod";
import { type CallResult, resultStatuses } from "../../shared/calls/call-result.ts";
import { time, timeOf } from "./operator/fields.ts";

/** The result of a placed call, as answers show it. */
export const resultViewSchema = z
  .strictObject({
    status: z
      .enum(resultStatuses)
      .describe("`unknown`: the provider did not tell, or in a word that is not known here"),
    human: z.boolean().nullable().describe("Null unless the provider says who answered"),
    word: z.string().nullable().describe("The provider's own word"),
    answered_at: time.nullable(),
    ended_at: time.nullable(),
    seconds: z.number().nullable(),
  })
  .meta({ id: "Result" });
type ResultView = z.infer<typeof resultViewSchema>;

export function resultViewOf(result: CallResult | null): ResultView | null {
  if (result === null) return null;
  const { status, human, word, answeredAt, endedAt, seconds } = result;
  return {
    status,
    human,
    word,
    answered_at: timeOf(answeredAt),
    ended_at: timeOf(endedAt),
    seconds,
  };
}
