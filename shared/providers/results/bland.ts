import * as z from "../../platform/zod.ts";
import type { ReadResult } from "../dialing-provider.ts";
import {
  answerersOf,
  optionalNumber,
  optionalText,
  resultOf,
  type RecordType,
  wordsOf,
} from "./result.ts";

/** States of a call that Bland took and did not dial: the list contains these too, and a person decides. */
export const neverStarted = new Set(["pre_queue_error", "queue_error"]);

/**
 * Values of `status`, `queue_status` and `answered_by` (https://docs.bland.ai/api-v1/get/calls-id). What
 * `failed` and `canceled` say of an answer is not told.
 */
const words = wordsOf(
  ["live", "new queued allocated started"],
  ["completed", "completed"],
  ["no_answer", "no-answer"],
  ["busy", "busy"],
  ["failed", [...neverStarted].join(" ")],
  ["unknown", "failed canceled unknown complete call_error complete_error"],
);

/** Values of `answered_by`. The others tell nothing. */
const answeredBy = answerersOf("human", "voicemail");

/** The details of a call. */
export const detailsSchema = z.object({
  metadata: z.nullish(z.record(z.string(), z.unknown())),
  completed: z.catch(z.nullish(z.boolean()), null),
  status: optionalText,
  queue_status: z.nullish(z.string()),
  answered_by: optionalText,
  /** Time at which the call was connected. `end_at` is when it would be ended at the latest. */
  started_at: optionalText,
  /** Seconds. */
  corrected_duration: z.catch(z.nullish(z.union([z.string(), z.number()])), null),
  /** Minutes. */
  call_length: optionalNumber,
});

/** The details of a call whose result is read. */
const callSchema = z.extend(detailsSchema, { call_id: z.string() });

/** `completed` is ahead of `queue_status`. `answered_by` is told where the account has it enabled. */
function resultOfDetails(details: z.infer<typeof detailsSchema>): ReadResult {
  const { completed, status, queue_status, answered_by, started_at } = details;
  const state = queue_status ?? "";
  if (completed !== true && (words.get(state) === "live" || (completed === false && !state))) {
    return resultOf(words, { word: "started" });
  }
  const { corrected_duration, call_length } = details;
  const seconds = corrected_duration ?? (call_length == null ? null : call_length * 60);
  const isAnswered = Number(seconds ?? 0) > 0;
  const isUnanswered = answered_by === "no-answer";
  return resultOf(words, {
    word: neverStarted.has(state) ? state : isUnanswered ? answered_by : (status ?? queue_status),
    human: answeredBy.get(answered_by ?? ""),
    answeredAt: isAnswered ? started_at : null,
    endedAt: started_at && Date.parse(started_at) + Number(seconds ?? 0) * 1000,
    seconds,
  });
}

export const blandRecord: RecordType<z.infer<typeof callSchema>> = {
  schema: callSchema,
  ownIn({ metadata }) {
    return metadata;
  },
  resultOf: resultOfDetails,
};
