import { randomUUID } from "node:crypto";
import * as z from "#shared/lib/zod.ts";
import type { StandInCall } from "./calls.ts";
import { digits, e164, endpoint, type Memory, type StandInType, text } from "./endpoint.ts";
import { isoOf, type Progress, progressOf, wishOf } from "./life.ts";

const outgoing = z.strictObject({
  outgoing: z.strictObject({
    to: e164,
    from: e164,
    additionalParams: z.optional(z.record(z.string(), z.unknown())),
  }),
});
/** Calls over SIP name both sides as SIP URIs, or as numbers with a trunk's user and password. */
const sip = z.strictObject({
  outgoing: z.strictObject({
    to: text,
    from: text,
    username: z.optional(z.string()),
    password: z.optional(z.string()),
  }),
});
const callSchema = z.strictObject({
  templateContext: z.optional(z.record(z.string(), z.unknown())),
  metadata: z.optional(z.record(z.string(), z.string())),
  medium: z.union([
    z.strictObject({ twilio: outgoing }),
    z.strictObject({ telnyx: outgoing }),
    z.strictObject({ plivo: outgoing }),
    z.strictObject({ sip }),
  ]),
  joinTimeout: z.optional(z.string().check(z.regex(/^\d+s$/))),
  maxDuration: z.optional(z.string().check(z.regex(/^\d+s$/))),
  recordingEnabled: z.optional(z.boolean()),
  firstSpeakerSettings: z.optional(z.looseObject({})),
  callbacks: z.optional(z.looseObject({})),
});
/** A filter on `metadata` is a parameter of its own for each key. */
const listSchema = z
  .catchall(
    z.object({
      cursor: z.optional(digits),
      pageSize: z.optional(digits),
      fromDate: z.optional(text),
      toDate: z.optional(text),
      sort: z.optional(text),
    }),
    z.string(),
  )
  .check(
    z.refine((query) => Object.keys(query).every((name) => isParameter(name)), "unknown parameter"),
  );

/**
 * Ultravox (https://docs.ultravox.ai/api-reference/agents/agents-calls-post, …/calls/calls-list): places an
 * agent's call through the telephony account that Ultravox holds, reads one, lists them in pages, filtered by
 * `metadata.…`, and lists a call's messages, in which the agent has called a tool if the callee asked for it. Errors are `{detail}`, or arrays by field.
 */
export const ultravox: StandInType = {
  name: "ultravox",
  secrets: { API_KEY: "stand-in.key" },
  create(memory) {
    const { secrets } = memory;
    return {
      credentialProblem: ({ headers }) =>
        headers["x-api-key"] === secrets["API_KEY"] ? undefined : "the key is wrong",
      refuse({ fault, text: message, field }) {
        if (fault === "credentials") return errorOf(401, "Invalid API key.");
        if (fault === "address") return errorOf(404, "Not found.");
        return { status: 400, body: { [field[0] ?? "non_field_errors"]: [message] } };
      },
      endpoints: [dial(memory), listCalls(memory), readCall(memory), listMessages(memory)],
    };
  },
};

const errorOf = (status: number, detail: string) => ({ status, body: { detail } });

function dial(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "POST",
    path: /^\/api\/agents\/(?<agent>[^/]+)\/calls$/,
    purpose: "call",
    body: callSchema,
    perform({ body, path }) {
      const [medium] = Object.values(body.medium);
      const number = /^sip:(\+\d+)@/.exec(medium.outgoing.to)?.[1] ?? medium.outgoing.to;
      const ourId = body.metadata?.["call_id"];
      const request = { ...body, agentId: decodeURIComponent(path["agent"] ?? "") };
      const call = calls.place({ id: randomUUID(), number, ourId, request });
      return { status: 201, body: rowOf(call, progressOf(call, memory)) };
    },
  });
}

function listCalls(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "GET",
    path: /^\/api\/calls$/,
    purpose: "look_up",
    query: listSchema,
    perform({ query }) {
      const filters = Object.entries(query).filter(([name]) => name.startsWith("metadata."));
      const since = Date.parse(query["fromDate"] ?? "1970-01-01");
      const rows = calls
        .listed()
        .filter(({ at }) => at >= since)
        .map((call) => rowOf(call, progressOf(call, memory)))
        .filter(({ metadata }) =>
          filters.every(([name, value]) => metadata[name.replace("metadata.", "")] === value),
        );
      const start = Number(query["cursor"] ?? 0);
      const end = start + Number(query["pageSize"] ?? 20);
      const next = end < rows.length ? `https://api.ultravox.ai/api/calls?cursor=${end}` : null;
      const results = rows.slice(start, end);
      return { status: 200, body: { results, next, previous: null, total: rows.length } };
    },
  });
}

function readCall(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "GET",
    path: /^\/api\/calls\/(?<id>[^/]+)$/,
    purpose: "look_up",
    perform({ path }) {
      const call = calls.find(path["id"] ?? "");
      if (call === undefined) return errorOf(404, "Not found.");
      return { status: 200, body: rowOf(call, progressOf(call, memory)) };
    },
  });
}

/** Parameters and answer of https://docs.ultravox.ai/api-reference/calls/calls-messages-list. */
function listMessages(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "GET",
    path: /^\/api\/calls\/(?<id>[^/]+)\/messages$/,
    purpose: "look_up",
    query: z.strictObject({
      cursor: z.optional(digits),
      pageSize: z.optional(digits),
      mode: z.optional(text),
    }),
    perform({ path }) {
      const call = calls.find(path["id"] ?? "");
      if (call === undefined) return errorOf(404, "Not found.");
      const wish = wishOf(call, progressOf(call, memory), memory);
      const tool = {
        role: "MESSAGE_ROLE_TOOL_CALL",
        toolName: "callBack",
        text: JSON.stringify({ call_back_at: wish }),
      };
      const results = [
        { role: "MESSAGE_ROLE_AGENT", text: "Hello." },
        ...(wish === undefined ? [] : [tool]),
      ];
      return { status: 200, body: { results, next: null, previous: null, total: results.length } };
    },
  });
}

const parameters = new Set(["cursor", "pageSize", "fromDate", "toDate", "sort"]);

function isParameter(name: string): boolean {
  return parameters.has(name) || name.startsWith("metadata.");
}

const recordSchema = z.catch(z.record(z.string(), z.unknown()), {});
const metadataSchema = z.catch(z.record(z.string(), z.string()), {});

/** Reasons of a SIP trunk. Other carriers report only that nobody has joined. */
const terminations: Record<string, string | undefined> = {
  no_answer: "SIP_TERMINATION_TIMEOUT",
  busy: "SIP_TERMINATION_BUSY",
};

function rowOf(
  { id, at, endedReason, request }: StandInCall,
  { state, fate, answeredAt, endedAt }: Progress,
) {
  const hasTrunk = "sip" in recordSchema.parse(request["medium"]);
  const terminationReason = terminations[fate] ?? "SIP_TERMINATION_NORMAL";
  const reason = endedReason ?? (answeredAt === undefined ? "unjoined" : "hangup");
  return {
    callId: id,
    created: new Date(at).toISOString(),
    joined: endedReason === undefined ? isoOf(answeredAt) : null,
    ended: isoOf(endedAt),
    endReason: state === "ended" ? reason : null,
    sipDetails: hasTrunk && state === "ended" ? { terminationReason } : null,
    agentId: request["agentId"],
    medium: request["medium"],
    metadata: metadataSchema.parse(request["metadata"]),
    joinUrl: null,
  };
}
