import * as z from "#shared/lib/zod.ts";
import { hexId, type StandInCall } from "./calls.ts";
import { e164, endpoint, type Memory, type StandInType, text } from "./endpoint.ts";
import { type Progress, progressOf } from "./life.ts";

const callSchema = z.strictObject({
  from_number: e164,
  to_number: e164,
  override_agent_id: z.optional(text),
  override_agent_version: z.optional(z.union([z.number(), z.string()])),
  agent_override: z.optional(z.looseObject({ agent: z.optional(z.looseObject({})) })),
  retell_llm_dynamic_variables: z.optional(z.record(z.string(), z.string())),
  metadata: z.optional(z.record(z.string(), z.unknown())),
  custom_sip_headers: z.optional(z.record(z.string(), z.string())),
});
const range = z.strictObject({
  type: z.literal("range"),
  op: z.literal("bt"),
  value: z.tuple([z.number(), z.number()]),
});
const listSchema = z.strictObject({
  filter_criteria: z.optional(
    z.strictObject({
      metadata: z.optional(
        z.array(
          z.strictObject({
            type: z.literal("string"),
            op: z.enum(["eq", "ne", "sw", "ew", "co"]),
            key: text,
            value: z.string(),
          }),
        ),
      ),
      start_timestamp: z.optional(
        z.union([
          range,
          z.strictObject({ type: z.literal("number"), op: z.literal("ge"), value: z.number() }),
        ]),
      ),
    }),
  ),
  sort_order: z.optional(z.enum(["ascending", "descending"])),
  limit: z.optional(z.int().check(z.minimum(1), z.maximum(1000))),
  skip: z.optional(z.int().check(z.minimum(0))),
  pagination_key: z.optional(z.string()),
  include_total: z.optional(z.boolean()),
});

/**
 * Retell (https://docs.retellai.com/api-references/create-phone-call, …/list-calls, …/get-call): places
 * calls, reads one, and lists them in pages, filtered by `metadata`. Errors are `{status: "error", message}`.
 */
export const retell: StandInType = {
  name: "retell",
  secrets: { API_KEY: "key_stand-in" },
  create(memory) {
    const { secrets } = memory;
    return {
      credentialProblem: ({ headers }) =>
        headers.authorization === `Bearer ${secrets["API_KEY"]}` ? undefined : "the key is wrong",
      refuse({ fault, text: message }) {
        if (fault === "credentials") return errorOf(401, "API key is missing or invalid.");
        if (fault === "address") return errorOf(404, "Not found");
        return errorOf(400, `Invalid request format, please check API reference. ${message}`);
      },
      endpoints: [dial(memory), listCalls(memory), readCall(memory)],
    };
  },
};

const errorOf = (status: number, message: string) => ({
  status,
  body: { status: "error", message },
});

function dial(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "POST",
    path: /^\/v2\/create-phone-call$/,
    purpose: "call",
    body: callSchema,
    perform({ body }) {
      const sent = body.metadata?.["call_id"];
      const ourId = typeof sent === "string" ? sent : undefined;
      const number = body.to_number;
      const call = calls.place({ id: hexId("call_"), number, ourId, request: body });
      return { status: 201, body: rowOf(call, progressOf(call, memory)) };
    },
  });
}

function listCalls(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "POST",
    path: /^\/v3\/list-calls$/,
    purpose: "look_up",
    body: listSchema,
    perform({ body }) {
      const { limit = 50, filter_criteria, sort_order, pagination_key, skip = 0 } = body;
      const metadata = filter_criteria?.metadata ?? [];
      const period = filter_criteria?.start_timestamp?.value ?? 0;
      const [from, until] = typeof period === "number" ? [period, Infinity] : period;
      const found = calls
        .listed()
        .map((call) => rowOf(call, progressOf(call, memory)))
        .filter((row) => metadata.every((filter) => matches(row.metadata, filter)))
        .filter((row) => row.start_timestamp >= from && row.start_timestamp <= until);
      const sorted = sort_order === "ascending" ? found.toReversed() : found;
      const start = skip + Number(pagination_key ?? 0);
      const hasMore = start + limit < sorted.length;
      const key = hasMore ? { pagination_key: String(start + limit) } : {};
      const items = sorted.slice(start, start + limit);
      const listed = items.length > 0 ? { items } : {}; // Retell's SDK says that it may be absent
      return { status: 200, body: { ...listed, has_more: hasMore, ...key } };
    },
  });
}

function readCall(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "GET",
    path: /^\/v2\/get-call\/(?<id>[^/]+)$/,
    purpose: "look_up",
    perform({ path }) {
      const call = calls.find(path["id"] ?? "");
      const missing = errorOf(422, "Cannot find requested asset under given api key.");
      return call === undefined
        ? missing
        : { status: 200, body: rowOf(call, progressOf(call, memory)) };
    },
  });
}

const recordSchema = z.catch(z.record(z.string(), z.unknown()), {});

const states = { queued: "registered", ringing: "registered", "in-progress": "ongoing" };
const reasons = {
  completed: "user_hangup",
  voicemail: "voicemail_reached",
  no_answer: "dial_no_answer",
  busy: "dial_busy",
};

function rowOf(
  { id, at, number, endedReason, request }: StandInCall,
  { state, fate, answeredAt, endedAt, seconds }: Progress,
) {
  const ended = {
    end_timestamp: endedAt,
    disconnection_reason: endedReason ?? reasons[fate],
    duration_ms: seconds * 1000,
  };
  const ending = answeredAt === undefined ? "not_connected" : "ended";
  return {
    call_type: "phone_call",
    call_id: id,
    agent_id: request["override_agent_id"] ?? "agent_of_the_number",
    agent_version: 1,
    call_status: state === "ended" ? ending : states[state],
    direction: "outbound",
    from_number: request["from_number"],
    to_number: number,
    metadata: recordSchema.parse(request["metadata"]),
    start_timestamp: answeredAt ?? at,
    ...(state === "ended" ? ended : {}),
  };
}

function matches(
  metadata: Record<string, unknown>,
  { key, op, value }: { key: string; op: string; value: string },
): boolean {
  const kept = metadata[key];
  const held = typeof kept === "string" ? kept : "";
  switch (op) {
    case "eq":
      return held === value;
    case "ne":
      return held !== value;
    case "sw":
      return held.startsWith(value);
    case "ew":
      return held.endsWith(value);
    default:
      return held.includes(value);
  }
}
