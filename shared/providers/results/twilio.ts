import * as z from "../../platform/zod.ts";
import type { ReadResult } from "../dialing-provider.ts";
import { answerersOf, optionalText, type RecordType, resultOf, wordsOf } from "./result.ts";

/** Values of `status` (https://www.twilio.com/docs/voice/api/call-resource#call-status-values). */
const words = wordsOf(
  ["live", "queued initiated ringing in-progress"],
  ["completed", "completed"],
  ["busy", "busy"],
  ["no_answer", "no-answer"],
  // A call that was cancelled while it was queued or rang: nobody answered.
  ["failed", "failed canceled"],
);

/**
 * Values of `answered_by`, of calls with `machineDetection`: the reference of calls has the first two, that of
 * the detection the others (https://www.twilio.com/docs/voice/answering-machine-detection). `unknown` tells
 * nothing.
 */
const answeredBy = answerersOf(
  "human",
  "machine machine_start machine_end_beep machine_end_silence machine_end_other fax",
);

/** A call as Twilio reads and lists it. Times are in the form of RFC 2822. */
export const callSchema = z.object({
  sid: z.string().check(z.minLength(1), z.maxLength(200)),
  to: z.nullish(z.string()),
  direction: z.nullish(z.string()),
  /** May be empty while a call is queued. */
  date_created: z.nullish(z.string()),
  status: optionalText,
  answered_by: optionalText,
  end_time: optionalText,
  /** Seconds, and empty for a call that nobody answered. */
  duration: optionalText,
});

/** `start_time` is that of the dialing, so the answer's time is told by the end and the length. */
export function resultOfCall(call: z.infer<typeof callSchema>): ReadResult {
  const { status, answered_by, end_time, duration } = call;
  const seconds = Number(duration ?? "");
  const human = answeredBy.get(answered_by ?? "");
  const answeredAt =
    end_time && duration && seconds > 0 ? Date.parse(end_time) - seconds * 1000 : null;
  const isAnswered = status === "in-progress";
  const facts = { word: status, human, isAnswered, answeredAt };
  return resultOf(words, { ...facts, endedAt: end_time, seconds: duration });
}

/**
 * Returns the fields of a call's callbacks. Without `StatusCallbackEvent` Twilio tells of the end alone.
 *
 * @param tellsAnswer true if Twilio is to tell of the answer, too
 */
export function callbackFields(
  callbackUrl: string | undefined,
  tellsAnswer: boolean | undefined,
): [string, string][] {
  if (callbackUrl === undefined) return [];
  const events = tellsAnswer === true ? ["answered", "completed"] : [];
  return [
    ["StatusCallback", callbackUrl],
    ["StatusCallbackMethod", "POST"],
    ...events.map((event): [string, string] => ["StatusCallbackEvent", event]),
  ];
}

export const twilioRecord: RecordType<z.infer<typeof callSchema>> = {
  schema: callSchema,
  resultOf: resultOfCall,
};
