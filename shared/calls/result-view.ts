import * as z from "zod";
import { type CallResult, resultStatuses } from "./call-result.ts";

const time = z.iso.datetime();

/** The result of a placed call, as answers and events show it. Times are ISO 8601. */
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
export type ResultView = z.infer<typeof resultViewSchema>;

export function resultViewOf(result: CallResult): ResultView {
  const { status, human, word, answeredAt, endedAt, seconds } = result;
  return {
    status,
    human,
    word,
    answered_at: textOf(answeredAt),
    ended_at: textOf(endedAt),
    seconds,
  };
}

function textOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
