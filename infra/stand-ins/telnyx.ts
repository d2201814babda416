import { randomBytes } from "node:crypto";
import * as z from "#shared/lib/zod.ts";
import type { StandInCall } from "./calls.ts";
import {
  digits,
  e164,
  endpoint,
  isoTime,
  type Memory,
  type StandInType,
  text,
  unchecked,
} from "./endpoint.ts";
import { progressOf } from "./life.ts";
import { eventsOf, legOf } from "./telnyx-events.ts";

const secondsMin = 5;
const dialSchema = z.strictObject({
  connection_id: text,
  from: e164,
  to: e164,
  command_id: z.optional(text),
  client_state: z.optional(z.base64()),
  assistant: z.optional(
    z.strictObject({ id: text, dynamic_variables: z.optional(z.record(z.string(), z.unknown())) }),
  ),
  answering_machine_detection: z.optional(
    z.enum(["premium", "detect", "detect_beep", "detect_words", "greeting_end", "disabled"]),
  ),
  timeout_secs: z.optional(z.int().check(z.minimum(secondsMin), z.maximum(600))),
  time_limit_secs: z.optional(z.int()),
  webhook_url: z.optional(z.url()),
  webhook_url_method: z.optional(z.enum(["POST", "GET"])),
  custom_headers: z.optional(z.array(z.strictObject({ name: text, value: z.string() }))),
  ...unchecked(
    "answering_machine_detection_config",
    "audio_url",
    "billing_group_id",
    "bridge_intent",
    "bridge_on_answer",
    "conference_config",
    "conversation_relay_config",
    "deepfake_detection",
    "dialogflow_config",
    "enable_dialogflow",
    "from_display_name",
    "link_to",
    "media_encryption",
    "media_name",
    "park_after_unbridge",
    "preferred_codecs",
    "prevent_double_bridge",
    "privacy",
    "record",
    "record_channels",
    "record_format",
    "record_max_length",
    "record_timeout_secs",
    "record_track",
    "record_trim",
    "retry_on_timeout",
    "route_to_mobile",
    "send_digits_on_answer",
    "sip_auth_password",
    "sip_auth_username",
    "sip_headers",
    "sip_region",
    "sip_transport_protocol",
    "stream_track",
    "stream_url",
    "supervise_call_control_id",
    "supervisor_role",
    "transcription",
    "transcription_config",
    "webhook_retries_policies",
  ),
  webhook_urls: z.optional(z.record(z.string(), z.array(z.url()))),
  webhook_urls_method: z.optional(z.enum(["POST", "GET"])),
});

const pageFields = {
  "page[number]": z.optional(digits),
  "page[size]": z.optional(
    digits.check(z.refine((size) => Number(size) >= 1 && Number(size) <= 250)),
  ),
};
const eventsSchema = z.strictObject({
  "filter[connection_id]": z.optional(text),
  "filter[from]": z.optional(e164),
  "filter[to]": z.optional(e164),
  "filter[leg_id]": z.optional(text),
  "filter[type]": z.optional(z.enum(["command", "webhook"])),
  "filter[product]": z.optional(z.enum(["call_control", "fax", "texml"])),
  "filter[occurred_at][gte]": z.optional(isoTime),
  "filter[occurred_at][gt]": z.optional(isoTime),
  "filter[occurred_at][lte]": z.optional(isoTime),
  "filter[occurred_at][lt]": z.optional(isoTime),
  ...pageFields,
});
const activeSchema = z.strictObject({
  ...pageFields,
  "page[limit]": z.optional(
    digits.check(z.refine((limit) => Number(limit) >= 1 && Number(limit) <= 250)),
  ),
  "page[after]": z.optional(text),
  "page[before]": z.optional(text),
});

/** Time in which a repeated `command_id` is ignored. */
const commandMs = 60_000;
/** Time for which events are listed whose leg is not asked for. */
const eventMs = 86_400_000;
/** Time for which the status of a call is reported after its end. */
const statusMs = 600_000;

/**
 * Telnyx Call Control: dials (https://developers.telnyx.com/api-reference/call-commands/dial), reads a call,
 * lists a connection's active calls page by page with a cursor, and lists the events of the last day
 * (https://developers.telnyx.com/api-reference/debugging/list-call-events). A repeated `command_id` is
 * ignored for a minute; the answer to it, which the reference does not say, is that of the first. Errors are
 * `{errors: [{code, title, detail, source: {pointer}}]}`.
 */
export const telnyx: StandInType = {
  name: "telnyx",
  secrets: { API_KEY: "KEY-stand-in" },
  create(memory) {
    const { secrets } = memory;
    return {
      credentialProblem: ({ headers }) =>
        headers.authorization === `Bearer ${secrets["API_KEY"]}` ? undefined : "the key is wrong",
      refuse({ fault, text: detail, field }) {
        if (fault === "credentials") {
          return errorOf(401, {
            code: "10009",
            title: "Authentication failed",
            detail: "The key is not valid.",
          });
        }
        if (fault === "address") return notFound;
        return errorOf(422, {
          code: "10015",
          title: "Bad Request",
          detail,
          source: { pointer: `/${field.join("/")}` },
        });
      },
      endpoints: [dial(memory), readCall(memory), listEvents(memory), listActiveCalls(memory)],
    };
  },
};

interface TelnyxError {
  code: string;
  title: string;
  detail: string;
  source?: { pointer: string };
}
const errorOf = (status: number, error: TelnyxError) => ({ status, body: { errors: [error] } });
const notFound = errorOf(404, {
  code: "10005",
  title: "Resource not found",
  detail: "There is no such resource.",
});

function dial({ calls, now }: Memory) {
  return endpoint({
    method: "POST",
    path: /^\/v2\/calls$/,
    purpose: "call",
    body: dialSchema,
    perform({ body }) {
      const repeated = calls.placed.find(
        ({ request, at }) =>
          body.command_id !== undefined &&
          request["command_id"] === body.command_id &&
          now() - at < commandMs,
      );
      const ourId = idOfState(body.client_state);
      const id = `v3:${randomBytes(40).toString("base64url")}`;
      const call = repeated ?? calls.place({ id, number: body.to, ourId, request: body });
      return { status: 200, body: { data: { ...legOf(call), is_alive: false } } };
    },
  });
}

function readCall(memory: Memory) {
  const { calls, now } = memory;
  return endpoint({
    method: "GET",
    path: /^\/v2\/calls\/(?<id>[^/]+)$/,
    purpose: "look_up",
    perform({ path }) {
      const call = calls.find(decodeURIComponent(path["id"] ?? ""));
      if (call === undefined) return notFound;
      const { state, endedAt = now() } = progressOf(call, memory);
      if (now() - endedAt > statusMs) return notFound;
      return { status: 200, body: { data: { ...legOf(call), is_alive: state !== "ended" } } };
    },
  });
}

function listEvents(memory: Memory) {
  const { calls, now } = memory;
  return endpoint({
    method: "GET",
    path: /^\/v2\/call_events$/,
    purpose: "look_up",
    query: eventsSchema,
    perform({ query }) {
      const of = (call: StandInCall, field: string) => call.request[field];
      const connection = query["filter[connection_id]"];
      const from = query["filter[from]"];
      const to = query["filter[to]"];
      const leg = query["filter[leg_id]"];
      const since = Date.parse(query["filter[occurred_at][gte]"] ?? "1970-01-01T00:00:00Z");
      const found = calls
        .listed()
        .filter((call) => call.at >= Math.max(since, leg === undefined ? now() - eventMs : 0))
        .filter((call) => leg === undefined || legOf(call).call_leg_id === leg)
        .filter((call) => connection === undefined || of(call, "connection_id") === connection)
        .filter((call) => from === undefined || of(call, "from") === from)
        .filter((call) => to === undefined || call.number === to)
        .flatMap((call) => eventsOf(call, memory))
        .filter(({ type }) => (query["filter[type]"] ?? type) === type);
      const size = Number(query["page[size]"] ?? 20);
      const page = Number(query["page[number]"] ?? 1);
      const data = found.slice((page - 1) * size, page * size);
      const meta = {
        page_number: page,
        page_size: data.length,
        total_pages: Math.ceil(found.length / size),
        total_results: found.length,
      };
      return { status: 200, body: { data, meta } };
    },
  });
}

function listActiveCalls(memory: Memory) {
  const { calls, now } = memory;
  return endpoint({
    method: "GET",
    path: /^\/v2\/connections\/(?<connection>[^/]+)\/active_calls$/,
    purpose: "look_up",
    query: activeSchema,
    perform({ query, path }) {
      const connection = decodeURIComponent(path["connection"] ?? "");
      const active = calls
        .listed()
        .filter((call) => call.request["connection_id"] === connection)
        .filter((call) => progressOf(call, memory).state !== "ended");
      const size = Number(query["page[limit]"] ?? query["page[size]"] ?? 20);
      const start = Number(query["page[after]"]?.replace("v1:", "") ?? 0);
      const data = active.slice(start, start + size).map((call) => ({
        ...legOf(call),
        call_duration: Math.round((now() - call.at) / 1000),
      }));
      const after = start + size < active.length ? `v1:${start + size}` : null;
      const next =
        after === null ? null : `/v2/connections/${connection}/active_calls?page[after]=${after}`;
      const meta = { cursors: { after, before: null }, total_items: active.length, next };
      return { status: 200, body: { data, meta } };
    },
  });
}

function idOfState(state = ""): string | undefined {
  return /"call_id":"(\w+)"/.exec(Buffer.from(state, "base64").toString())?.[1];
}
