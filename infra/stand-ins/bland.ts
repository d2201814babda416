import { randomUUID } from "node:crypto";
import * as z from "#shared/lib/zod.ts";
import type { StandInCall } from "./calls.ts";
import { digits, e164, endpoint, type Memory, type StandInType, text } from "./endpoint.ts";
import { isoOf, type Progress, progressOf } from "./life.ts";

const callSchema = z
  .strictObject({
    phone_number: e164,
    pathway_id: z.optional(text),
    task: z.optional(text),
    persona_id: z.optional(text),
    from: z.optional(e164),
    request_data: z.optional(z.record(z.string(), z.unknown())),
    metadata: z.optional(z.record(z.string(), z.unknown())),
    webhook: z.optional(z.url()),
    max_duration: z.optional(z.number()),
    timezone: z.optional(z.string()),
    record: z.optional(z.boolean()),
    answered_by_enabled: z.optional(z.boolean()),
    wait_for_greeting: z.optional(z.boolean()),
    voicemail: z.optional(z.looseObject({})),
    language: z.optional(text),
    voice: z.optional(text),
    model: z.optional(text),
  })
  .check(
    z.refine(
      ({ pathway_id, task, persona_id }) => (pathway_id ?? task ?? persona_id) !== undefined,
      {
        path: ["task"],
        error: "pathway_id, task or persona_id is required",
      },
    ),
  );
const listSchema = z.strictObject({
  from_number: z.optional(e164),
  to_number: z.optional(e164),
  from: z.optional(digits),
  to: z.optional(digits),
  limit: z.optional(digits),
  ascending: z.optional(z.enum(["true", "false"])),
  sort_by: z.optional(text),
  start_date: z.optional(z.string().check(z.regex(/^\d{4}-\d\d-\d\d/))),
  end_date: z.optional(z.string().check(z.regex(/^\d{4}-\d\d-\d\d/))),
  created_at: z.optional(text),
  completed: z.optional(z.enum(["true", "false"])),
  batch_id: z.optional(text),
});

/**
 * Bland (https://docs.bland.ai/api-v1/post/calls, …/get/calls, …/get/calls-id): places calls, lists them by
 * number and day, and reads one, which alone repeats `metadata`. Errors are `{status: "error", message}`;
 * their form is not in the reference beyond that.
 */
export const bland: StandInType = {
  name: "bland",
  secrets: { API_KEY: "org_stand-in" },
  create(memory) {
    const { secrets } = memory;
    return {
      credentialProblem: ({ headers }) =>
        headers.authorization === secrets["API_KEY"] ? undefined : "the key is wrong",
      refuse({ fault, text: message }) {
        if (fault === "credentials") return errorOf(401, "Invalid API key.");
        if (fault === "address") return errorOf(404, "Not found.");
        return errorOf(400, `Invalid parameters: ${message}`);
      },
      endpoints: [sendCall(memory), listCalls(memory), readCall(memory)],
    };
  },
};

const errorOf = (status: number, message: string) => ({
  status,
  body: { status: "error", message },
});

function sendCall({ calls }: Memory) {
  return endpoint({
    method: "POST",
    path: /^\/v1\/calls$/,
    purpose: "call",
    body: callSchema,
    perform({ body }) {
      const sent = body.metadata?.["call_id"];
      const ourId = typeof sent === "string" ? sent : undefined;
      const number = body.phone_number;
      const call = calls.place({ id: randomUUID(), number, ourId, request: body });
      const message = "Call successfully queued.";
      return {
        status: 200,
        body: { status: "success", message, call_id: call.id, batch_id: null },
      };
    },
  });
}

function listCalls(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "GET",
    path: /^\/v1\/calls$/,
    purpose: "look_up",
    query: listSchema,
    perform({ query }) {
      const since = Date.parse(query.start_date ?? "1970-01-01");
      const until = Date.parse(query.end_date ?? "9999-12-31");
      const rows = calls
        .listed()
        .filter(({ at }) => at >= since && at <= until)
        .map((call) => rowOf(call, progressOf(call, memory)))
        .filter((row) => (query.to_number ?? row.to) === row.to)
        .filter((row) => (query.from_number ?? row.from) === row.from);
      const sorted = query.ascending === "true" ? rows.toReversed() : rows;
      const start = Number(query.from ?? 0);
      const end = Math.min(Number(query.to ?? Infinity), start + Number(query.limit ?? 1000));
      return { status: 200, body: { count: rows.length, calls: sorted.slice(start, end) } };
    },
  });
}

function readCall(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "GET",
    path: /^\/v1\/calls\/(?<id>[^/]+)$/,
    purpose: "look_up",
    perform({ path }) {
      const call = calls.find(path["id"] ?? "");
      if (call === undefined) return errorOf(404, "Call not found.");
      const { metadata = null, request_data = {} } = call.request;
      const progress = progressOf(call, memory);
      const details = { metadata, request_data, inbound: false, ...detailsOf(progress) };
      return { status: 200, body: { ...rowOf(call, progress), ...details } };
    },
  });
}

const ends = {
  completed: "completed",
  voicemail: "completed",
  no_answer: "no-answer",
  busy: "busy",
};

/** Returns the fields that only the details of a call have. */
function detailsOf({ state, fate, answeredAt, seconds }: Progress) {
  const hasEnded = state === "ended";
  return {
    status: hasEnded ? ends[fate] : null,
    started_at: isoOf(answeredAt),
    corrected_duration: hasEnded && answeredAt !== undefined ? String(seconds) : null,
  };
}

/** Returns a call as lists have it. `answered_by` is reported where the request asks for it. */
function rowOf(
  { id, at, number, endedReason, request }: StandInCall,
  { state, fate, seconds }: Progress,
) {
  const isEnded = state === "ended";
  const isDetected = isEnded && request["answered_by_enabled"] === true;
  const answerers = {
    completed: "human",
    voicemail: "voicemail",
    no_answer: "no-answer",
    busy: "no-answer",
  };
  return {
    call_id: id,
    c_id: id, // not in the reference, but in the answers that users quote
    created_at: new Date(at).toISOString(),
    to: number,
    from: request["from"] ?? "+12025550100",
    completed: isEnded,
    queue_status: isEnded ? "complete" : state === "queued" ? "queued" : "started",
    error_message: endedReason ?? null,
    call_length: isEnded ? seconds / 60 : null,
    answered_by: isDetected ? answerers[fate] : null,
    batch_id: null,
  };
}
