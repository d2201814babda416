import * as z from "../../platform/zod.ts";
import type { ReadResult } from "../dialing-provider.ts";
import { optionalNumber, optionalText, resultOf, type RecordType, wordsOf } from "./result.ts";

/**
 * Values of `status` (elevenlabs-js, GetConversationResponseModelStatus), and SIP statuses of the callee's
 * side in the error of a conversation that failed (RFC 3261, section 21; 607: RFC 8197; 608: RFC 8688). While a
 * conversation is processed, its record is not whole. An exchange answers a 5xx after the phone has rung, too.
 */
const words = wordsOf(
  ["live", "initiated in-progress processing"],
  ["completed", "done"],
  ["no_answer", "sip_408 sip_480 sip_487 sip_request_timed_out"],
  ["busy", "sip_486 sip_600"],
  ["declined", "sip_603"],
  ["invalid", "sip_404 sip_410 sip_484 sip_604"],
  ["blocked", "sip_403 sip_607 sip_608"],
  ["failed", "sip_401 sip_402 sip_407"],
  ["unknown", "failed sip_488 sip_500 sip_502 sip_503 sip_504"],
);

/** Reads the SIP status in a text of ElevenLabs, as in `INVITE failed: sip status: 486: Busy here (SIP 486)`. */
export function sipWordIn(text: string): string | undefined {
  const status = /\bINVITE failed: sip status:? (\d{3})\b/i.exec(text)?.[1];
  if (status !== undefined) return `sip_${status}`;
  // LiveKit's words for a phone that nobody answered in time (livekit/sip, errors.go).
  return /\bsip request timed out\b/i.test(text) ? "sip_request_timed_out" : undefined;
}

/** A row of the list of conversations. */
export const rowSchema = z.object({
  conversation_id: z.string().check(z.minLength(1), z.maxLength(200)),
  start_time_unix_secs: z.number(),
  call_duration_secs: optionalNumber,
  status: optionalText,
  tool_names: z.catch(z.nullish(z.array(z.string())), null),
});

export const conversationSchema = z.object({
  user_id: z.nullish(z.string()),
  status: z.nullish(z.string()),
  metadata: z.nullish(
    z.object({
      start_time_unix_secs: optionalNumber,
      accepted_time_unix_secs: optionalNumber,
      call_duration_secs: z.nullish(z.number()),
      error: z.nullish(z.object({ reason: z.nullish(z.string()) })),
      features_usage: z.catch(
        z.nullish(
          z.object({ voicemail_detection: z.nullish(z.object({ used: z.nullish(z.boolean()) })) }),
        ),
        null,
      ),
    }),
  ),
});

/** A conversation whose result is read. */
const toldSchema = z.extend(conversationSchema, { status: z.string() });

/** A conversation tells that a machine answered only if its agent has the tool that detects mailboxes. */
function resultOfConversation({
  status,
  metadata,
}: z.infer<typeof conversationSchema>): ReadResult {
  const { start_time_unix_secs, accepted_time_unix_secs, call_duration_secs } = metadata ?? {};
  const sip = status === "failed" ? sipWordIn(metadata?.error?.reason ?? "") : undefined;
  return resultOf(words, {
    word: sip ?? status,
    human: metadata?.features_usage?.voicemail_detection?.used === true ? false : null,
    ...timesOf(status, accepted_time_unix_secs ?? start_time_unix_secs, call_duration_secs),
  });
}

/** Returns what a row tells, or undefined for one that failed: its record says more. */
export function resultOfRow(row: z.infer<typeof rowSchema>): ReadResult | undefined {
  const { status, start_time_unix_secs, call_duration_secs, tool_names } = row;
  if (status === "failed") return undefined;
  return resultOf(words, {
    word: status,
    human: tool_names?.includes("voicemail_detection") === true ? false : null,
    ...timesOf(status, start_time_unix_secs, call_duration_secs),
  });
}

function timesOf(
  status: string | null | undefined,
  from: number | null | undefined,
  seconds: number | null | undefined,
) {
  const began = status === "done" || (seconds ?? 0) > 0;
  if (!began || from == null) return { seconds };
  const answeredAt = from * 1000;
  return { answeredAt, endedAt: answeredAt + (seconds ?? 0) * 1000, seconds };
}

export const elevenlabsRecord: RecordType<z.infer<typeof toldSchema>> = {
  schema: toldSchema,
  ownIn({ user_id }) {
    return { call_id: user_id ?? undefined };
  },
  resultOf: resultOfConversation,
};
