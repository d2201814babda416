import * as z from "#shared/lib/zod.ts";
import { hexId, type StandInCall } from "./calls.ts";
import {
  digits,
  e164,
  endpoint,
  type Memory,
  type StandInType,
  text,
  unchecked,
} from "./endpoint.ts";
import { type Progress, progressOf } from "./life.ts";

const callSchema = z.strictObject({
  agent_id: text,
  agent_phone_number_id: text,
  to_number: e164,
  conversation_initiation_client_data: z.optional(
    z.strictObject({
      dynamic_variables: z.optional(
        z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
      ),
      user_id: z.optional(text),
      conversation_config_override: z.optional(z.looseObject({})),
      branch_id: z.optional(text),
      environment: z.optional(text),
      ...unchecked("custom_llm_extra_body", "source_info", "starting_workflow_node_id"),
    }),
  ),
  telephony_call_config: z.optional(
    z.strictObject({ ringing_timeout_secs: z.optional(z.int().check(z.minimum(1))) }),
  ),
  call_recording_enabled: z.optional(z.boolean()),
});
const listSchema = z.strictObject({
  cursor: z.optional(text),
  agent_id: z.optional(text),
  user_id: z.optional(text),
  call_start_after_unix: z.optional(z.union([digits, z.string().check(z.regex(/^\d{10}$/))])),
  call_start_before_unix: z.optional(z.union([digits, z.string().check(z.regex(/^\d{10}$/))])),
  page_size: z.optional(digits.check(z.refine((size) => Number(size) >= 1 && Number(size) <= 100))),
  summary_mode: z.optional(z.enum(["exclude", "include"])),
});

/**
 * ElevenLabs (https://elevenlabs.io/docs/eleven-agents/api-reference/twilio/outbound-call,
 * …/sip-trunk/outbound-call, …/conversations/list, …/conversations/get): places calls through either
 * connection, lists conversations in pages, and reads one, whose `metadata.error` reports a failed call. The
 * rows of the list do not repeat `user_id`. Errors are in `detail`: an object, or an array about fields.
 */
export const elevenlabs: StandInType = {
  name: "elevenlabs",
  secrets: { API_KEY: "sk_stand-in" },
  create(memory) {
    const { secrets } = memory;
    return {
      credentialProblem: ({ headers }) =>
        headers["xi-api-key"] === secrets["API_KEY"] ? undefined : "the key is wrong",
      refuse({ fault, text: msg, field }) {
        if (fault === "credentials") return errorOf(401, "invalid_api_key", "Invalid API key");
        if (fault === "address") return { status: 404, body: { detail: "Not Found" } };
        return {
          status: 422,
          body: { detail: [{ loc: ["body", ...field], msg, type: "value_error" }] },
        };
      },
      endpoints: [dial(memory), listConversations(memory), readConversation(memory)],
    };
  },
};

const errorOf = (status: number, code: string, message: string) => ({
  status,
  body: { detail: { status: code, code, message } },
});

function dial({ calls }: Memory) {
  return endpoint({
    method: "POST",
    path: /^\/v1\/convai\/(?<through>exotel|twilio|sip-trunk)\/outbound-call$/,
    purpose: "call",
    body: callSchema,
    perform({ body, path }) {
      const ourId = body.conversation_initiation_client_data?.user_id;
      const number = body.to_number;
      const call = calls.place({ id: hexId("conv_"), number, ourId, request: body });
      const carrier =
        path["through"] === "sip-trunk" ? { sip_call_id: hexId("SCL_") } : { callSid: hexId("CA") };
      const message = "Call initiated successfully";
      return {
        status: 200,
        body: { success: true, message, conversation_id: call.id, ...carrier },
      };
    },
  });
}

function listConversations(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "GET",
    path: /^\/v1\/convai\/conversations$/,
    purpose: "look_up",
    query: listSchema,
    perform({ query }) {
      const { user_id, agent_id, cursor = "0", page_size = "30" } = query;
      const after = Number(query.call_start_after_unix ?? 0);
      const before = Number(query.call_start_before_unix ?? Infinity);
      const rows = calls
        .listed()
        .filter(({ ourId }) => user_id === undefined || ourId === user_id)
        .map((call) => rowOf(call, progressOf(call, memory)))
        .filter((row) => (agent_id ?? row.agent_id) === row.agent_id)
        .filter(({ start_time_unix_secs: at }) => at >= after && at <= before);
      const end = Number(cursor) + Number(page_size);
      const hasMore = end < rows.length;
      const conversations = rows.slice(Number(cursor), end);
      const next_cursor = hasMore ? String(end) : null;
      return { status: 200, body: { conversations, next_cursor, has_more: hasMore } };
    },
  });
}

function readConversation(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "GET",
    path: /^\/v1\/convai\/conversations\/(?<id>[^/]+)$/,
    purpose: "look_up",
    perform({ path }) {
      const id = decodeURIComponent(path["id"] ?? "");
      const call = calls.find(id);
      if (call === undefined) {
        return errorOf(404, "conversation_not_found", "The conversation was not found");
      }
      return { status: 200, body: conversationOf(call, progressOf(call, memory)) };
    },
  });
}

/** Errors of calls that nobody answered, as a SIP trunk has them. */
const errors: Record<string, string | undefined> = {
  no_answer: "INVITE failed: sip request timed out",
  busy: "INVITE failed: sip status: 486: Busy here (SIP 486)",
};

function rowOf(
  { id, at, endedReason, request }: StandInCall,
  { state, fate, answeredAt, seconds }: Progress,
) {
  const hasFailed = (endedReason ?? errors[fate]) !== undefined;
  const ended = hasFailed ? "failed" : "done";
  const states = { queued: "initiated", ringing: "initiated", "in-progress": "in-progress", ended };
  const isMailbox = state === "ended" && fate === "voicemail";
  return {
    agent_id: request["agent_id"] ?? "agent_of_another",
    conversation_id: id,
    start_time_unix_secs: Math.floor((answeredAt ?? at) / 1000),
    call_duration_secs: seconds,
    message_count: 0,
    status: states[state],
    call_successful: "unknown",
    direction: "outbound",
    tool_names: isMailbox ? ["voicemail_detection"] : [],
  };
}

function conversationOf(call: StandInCall, progress: Progress) {
  const row = rowOf(call, progress);
  const { agent_id, conversation_id, start_time_unix_secs, call_duration_secs, status } = row;
  const reason = call.endedReason ?? (status === "failed" ? errors[progress.fate] : undefined);
  return {
    agent_id,
    conversation_id,
    status,
    user_id: call.ourId ?? null,
    transcript: [],
    metadata: {
      start_time_unix_secs,
      call_duration_secs,
      error: reason === undefined ? null : { code: 1011, reason },
      termination_reason: reason ?? "",
      features_usage: {
        voicemail_detection: { enabled: true, used: row.tool_names.length > 0 },
      },
    },
    has_audio: false,
    has_user_audio: false,
    has_response_audio: false,
  };
}
