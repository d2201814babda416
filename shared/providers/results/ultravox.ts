import * as z from "../../platform/zod.ts";
import type { ReadResult } from "../dialing-provider.ts";
import { optionalText, resultOf, type RecordType, wordsOf } from "./result.ts";

/**
 * Values of `endReason`, and of `sipDetails.terminationReason` of calls through a SIP trunk
 * (https://docs.ultravox.ai/api-reference/schema/call-definition). Through another carrier, a line that was
 * busy has not been joined either, and counts as not answered.
 */
const words = wordsOf(
  ["live", "live"],
  ["completed", "hangup agent_hangup"],
  ["no_answer", "unjoined SIP_TERMINATION_TIMEOUT SIP_TERMINATION_CANCELED"],
  ["busy", "SIP_TERMINATION_BUSY"],
  ["declined", "SIP_TERMINATION_REJECTED"],
  ["invalid", "SIP_TERMINATION_INVALID_NUMBER"],
  ["failed", "SIP_TERMINATION_DESTINATION_UNAVAILABLE"],
  ["unknown", "timeout connection_error system_error"],
);

/** A call as Ultravox reads and lists it. Times are in the form of ISO 8601. */
export const callSchema = z.object({
  callId: z.string().check(z.minLength(1), z.maxLength(200)),
  /** Another application's call may have anything there. */
  metadata: z.catch(z.nullish(z.record(z.string(), z.unknown())), null),
  joined: z.nullish(z.string()),
  ended: optionalText,
  endReason: z.nullish(z.string()),
  sipDetails: z.catch(z.nullish(z.object({ terminationReason: optionalText })), null),
});
export type UltravoxCall = z.infer<typeof callSchema>;

/** True for a call that an error ended before anybody had joined: the phone may not have rung. */
export function hasFailedEarly({ joined, endReason }: UltravoxCall): boolean {
  const hasError = endReason === "connection_error" || endReason === "system_error";
  return hasError && typeof joined !== "string";
}

/** The SIP trunk's reason says more of a call that nobody has joined. */
export function resultOfCall({ joined, ended, endReason, sipDetails }: UltravoxCall): ReadResult {
  if (!ended && !endReason) return resultOf(words, { word: "live", answeredAt: joined });
  const sip = sipDetails?.terminationReason ?? "";
  const word = !joined && words.has(sip) ? sip : endReason;
  return resultOf(words, { word, answeredAt: joined, endedAt: ended });
}

export const ultravoxRecord: RecordType<UltravoxCall> = {
  schema: callSchema,
  ownIn({ metadata }) {
    return metadata;
  },
  resultOf: resultOfCall,
};
