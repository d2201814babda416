import * as z from "../../platform/zod.ts";
import type { ReadResult } from "../dialing-provider.ts";
import { optionalNumber, optionalText, resultOf, type RecordType, wordsOf } from "./result.ts";

/** Values of `disconnection_reason` (https://docs.retellai.com/reliability/debug-call-disconnect). */
const words = wordsOf(
  ["live", "registered ongoing"],
  [
    "completed",
    "user_hangup agent_hangup call_transfer inactivity max_duration_reached " +
      "transfer_bridged transfer_cancelled call_take_over",
  ],
  // A machine answered: a mailbox, or a menu of a switchboard.
  ["voicemail", "voicemail_reached ivr_reached machine_detected"],
  ["no_answer", "dial_no_answer"],
  ["busy", "dial_busy"],
  ["declined", "user_declined"],
  ["invalid", "invalid_destination"],
  ["blocked", "marked_as_spam"],
  [
    "failed",
    "dial_failed telephony_provider_permission_denied telephony_provider_unavailable " +
      "sip_routing_error concurrency_limit_reached",
  ],
  [
    "unknown",
    "no_concurrency_fallback no_valid_payment scam_detected manual_stopped " +
      "registered_call_timeout error_user_not_joined error_llm_websocket_open " +
      "error_llm_websocket_lost_connection error_llm_websocket_runtime " +
      "error_llm_websocket_corrupt_payload error_no_audio_received error_asr error_retell " +
      "error_unknown error_inbound_webhook",
  ],
);

/** A call as Retell reads and lists it. Times are in milliseconds since the epoch. */
export const callSchema = z.object({
  call_id: z.string().check(z.minLength(1), z.maxLength(200)),
  call_status: optionalText,
  /** Another application's call may have anything there. */
  metadata: z.catch(z.nullish(z.record(z.string(), z.unknown())), null),
  disconnection_reason: optionalText,
  start_timestamp: optionalNumber,
  end_timestamp: optionalNumber,
  duration_ms: optionalNumber,
  call_analysis: z.catch(z.nullish(z.object({ in_voicemail: z.nullish(z.boolean()) })), null),
});

/** `call_status` is `not_connected` if nobody answered, and `ended` after a conversation. */
export function resultOfCall(call: z.infer<typeof callSchema>): ReadResult {
  const { call_status, disconnection_reason, start_timestamp, duration_ms } = call;
  const isLive = call_status === "registered" || call_status === "ongoing";
  const hasEnded = call_status === "ended" || (duration_ms ?? 0) > 0;
  return resultOf(words, {
    word: isLive ? call_status : disconnection_reason,
    human: call.call_analysis?.in_voicemail === true ? false : null,
    isAnswered: hasEnded,
    answeredAt: hasEnded || call_status === "ongoing" ? start_timestamp : null,
    endedAt: call.end_timestamp,
    seconds: duration_ms == null ? null : duration_ms / 1000,
  });
}

export const retellRecord: RecordType<z.infer<typeof callSchema>> = {
  schema: callSchema,
  ownIn({ metadata }) {
    return metadata;
  },
  resultOf: resultOfCall,
};
