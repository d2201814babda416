import { randomUUID } from "node:crypto";
import * as z from "#shared/lib/zod.ts";
import type { StandInCall } from "./calls.ts";
import {
  digits,
  endpoint,
  type Memory,
  type StandInAnswer,
  type StandInType,
  text,
  unchecked,
} from "./endpoint.ts";
import { type Progress, progressOf } from "./life.ts";

const number = z.string().check(z.regex(/^\d{7,15}$/, "must be a number with its country code"));
const method = z.optional(z.enum(["GET", "POST"]));
const seconds = z.optional(z.int().check(z.minimum(1)));
/** Form of `POST …/Call/`, as far as calls by this project may use it. */
const callSchema = z.strictObject({
  from: number,
  to: number,
  answer_url: z.url(),
  answer_method: method,
  ring_url: z.optional(z.url()),
  ring_method: method,
  hangup_url: z.optional(z.url()),
  hangup_method: method,
  fallback_url: z.optional(z.url()),
  fallback_method: method,
  machine_detection: z.optional(z.enum(["true", "hangup"])),
  time_limit: seconds,
  hangup_on_ring: z.optional(z.int().check(z.minimum(0))),
  ring_timeout: seconds,
  ...unchecked(
    "caller_name",
    "callback_url",
    "callback_method",
    "error_if_parent_not_found",
    "machine_detection_method",
    "machine_detection_time",
    "machine_detection_url",
    "parent_call_uuid",
    "send_digits",
    "send_on_preanswer",
    "sip_headers",
  ),
});
const time = z.optional(
  z.string().check(z.regex(/^\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d(\.\d+)?)?$/, "must be a time")),
);
const listSchema = z.strictObject({
  status: z.optional(z.enum(["live", "queued"])),
  subaccount: z.optional(text),
  call_direction: z.optional(z.enum(["inbound", "outbound"])),
  from_number: z.optional(digits15()),
  to_number: z.optional(digits15()),
  parent_call_uuid: z.optional(text),
  end_time: time,
  end_time__gt: time,
  end_time__gte: time,
  end_time__lt: time,
  end_time__lte: time,
  hangup_cause_code: z.optional(digits),
  hangup_source: z.optional(text),
  limit: z.optional(digits.check(z.refine((limit) => Number(limit) >= 1 && Number(limit) <= 20))),
  offset: z.optional(digits),
});
const oneSchema = z.strictObject({ status: z.optional(z.enum(["live", "queued"])) });

function digits15() {
  return z.string().check(z.regex(/^\d{1,15}$/, "must be a number or its beginning"));
}

/**
 * Plivo (https://docs.plivo.com/docs/voice/api/calls, plivo 4.79): places calls, lists those in progress by their ids
 * and those that have ended with their records, and reads one of either kind. Errors are `{api_id, error}`.
 */
export const plivo: StandInType = {
  name: "plivo",
  secrets: { AUTH_ID: "MASTANDIN00000000000", AUTH_TOKEN: "stand-in-token" },
  create(memory) {
    const { secrets } = memory;
    return {
      credentialProblem({ headers, path }) {
        const basic = Buffer.from((headers.authorization ?? "").replace("Basic ", ""), "base64");
        const [user = "", password] = basic.toString().split(":");
        if (user !== secrets["AUTH_ID"]) return "the auth id is unknown";
        if (password !== secrets["AUTH_TOKEN"]) return "the auth token is wrong";
        return path.startsWith(`/v1/Account/${user}/`)
          ? undefined
          : "the path is another account's";
      },
      refuse({ fault, text: error }) {
        if (fault === "credentials") return { status: 401, body: "Could not verify your access" };
        return errorOf(fault === "address" ? 404 : 400, error);
      },
      endpoints: [createCall(memory), listCalls(memory), readCall(memory)],
    };
  },
};

function errorOf(status: number, error: string): StandInAnswer {
  return { status, body: { api_id: randomUUID(), error } };
}

const account = "/v1/Account/(?<account>[^/]+)";

function createCall({ calls }: Memory) {
  return endpoint({
    method: "POST",
    path: new RegExp(`^${account}/Call/$`),
    purpose: "call",
    body: callSchema,
    perform({ body }) {
      const ourId = /[?&]call_id=(\w+)/.exec(body.answer_url)?.[1];
      const called = `+${body.to}`;
      const { id } = calls.place({ id: randomUUID(), number: called, ourId, request: body });
      const message = "call fired";
      return { status: 201, body: { api_id: randomUUID(), message, request_uuid: id } };
    },
  });
}

function listCalls(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "GET",
    path: new RegExp(`^${account}/Call/$`),
    purpose: "look_up",
    query: listSchema,
    perform({ query }) {
      const api_id = randomUUID();
      const all = calls.listed().map((call) => ({ call, progress: progressOf(call, memory) }));
      if (query.status !== undefined) {
        const state = query.status === "queued" ? ["queued"] : ["ringing", "in-progress"];
        const asked = all.filter(({ progress }) => state.includes(progress.state));
        return { status: 200, body: { api_id, calls: asked.map(({ call }) => call.id) } };
      }
      const since = Date.parse(`${query.end_time__gte ?? "1970-01-01 00:00:00"}Z`);
      const rows = all
        .filter(({ progress }) => (progress.endedAt ?? -Infinity) >= since)
        .map(({ call, progress }) => recordOf(call, progress))
        .filter((row) => row.from_number.startsWith(query.from_number ?? ""))
        .filter((row) => row.to_number.startsWith(query.to_number ?? ""));
      const limit = Number(query.limit ?? 20);
      const offset = Number(query.offset ?? 0);
      const end = offset + limit;
      const next =
        end < rows.length ? `/v1/Account/account/Call/?limit=${limit}&offset=${end}` : null;
      const meta = { limit, offset, next, previous: null, total_count: rows.length };
      return { status: 200, body: { api_id, meta, objects: rows.slice(offset, end) } };
    },
  });
}

function readCall(memory: Memory) {
  return endpoint({
    method: "GET",
    path: new RegExp(`^${account}/Call/(?<uuid>[^/]+)/$`),
    purpose: "look_up",
    query: oneSchema,
    perform({ path, query }) {
      const call = memory.calls.find(path["uuid"] ?? "");
      const progress = call && progressOf(call, memory);
      const state = progress?.state;
      const isAsked =
        query.status === undefined
          ? state === "ended"
          : (query.status === "queued") === (state === "queued") && state !== "ended";
      if (call === undefined || progress === undefined || !isAsked) {
        return errorOf(404, "not found");
      }
      const body = query.status === undefined ? recordOf(call, progress) : liveOf(call, progress);
      return { status: 200, body: { api_id: randomUUID(), ...body } };
    },
  });
}

function numberOf(value: unknown): string {
  return typeof value === "string" ? value : "12025550100";
}

/** Returns a call that has not ended. A second leg has no request of its own. */
function liveOf({ id, at, number: called, parentId, request }: StandInCall, { state }: Progress) {
  return {
    call_status: state,
    call_uuid: id,
    caller_name: "",
    direction: "outbound",
    from: numberOf(request["from"]),
    to: called.slice(1),
    request_uuid: parentId === undefined ? id : null,
    session_start: new Date(at).toISOString().replace("T", " ").replace("Z", "000"),
  };
}

/** Returns the record of a call that has ended. */
function recordOf(
  { id, at, number: called, parentId, request }: StandInCall,
  { fate, answeredAt, endedAt, seconds: talked }: Progress,
) {
  const isDetected = fate === "voicemail" && request["machine_detection"] === "hangup";
  const completed: [number, string] = isDetected
    ? [9100, "Machine Detected"]
    : [4000, "Normal Hangup"];
  const causes: Record<Progress["fate"], [number, string]> = {
    completed,
    voicemail: completed,
    no_answer: [3000, "No Answer"],
    busy: [3010, "Busy Line"],
  };
  const [hangup_cause_code, hangup_cause_name] = causes[fate];
  return {
    call_uuid: id,
    call_direction: "outbound",
    from_number: numberOf(request["from"]),
    to_number: called.slice(1),
    parent_call_uuid: parentId ?? null,
    initiation_time: timeOf(at),
    answer_time: timeOf(answeredAt),
    end_time: timeOf(endedAt),
    bill_duration: talked,
    call_duration: talked,
    hangup_cause_code,
    hangup_cause_name,
    hangup_source: "Callee",
    total_amount: "0.00000",
  };
}

/** Returns a time in the form of the reference's examples, with the zone of an account. */
function timeOf(ms: number | undefined): string | null {
  if (ms === undefined) return null;
  const inIndia = new Date(ms + 19_800_000).toISOString();
  return `${inIndia.slice(0, 10)} ${inIndia.slice(11, 19)}+05:30`;
}
