import { createPublicKey, generateKeyPairSync, randomUUID } from "node:crypto";
import { jwtVerify } from "jose";
import * as z from "#shared/lib/zod.ts";
import type { StandInCall } from "./calls.ts";
import {
  digits,
  endpoint,
  type Memory,
  type StandInRequest,
  type StandInType,
  text,
  unchecked,
} from "./endpoint.ts";
import { type Progress, progressOf } from "./life.ts";

const number = z.string().check(z.regex(/^\d{7,15}$/, "must be 7 to 15 digits"));
const phone = z.strictObject({
  type: z.literal("phone"),
  number,
  dtmfAnswer: z.optional(z.string()),
});
const urls = z.array(z.url()).check(z.minLength(1), z.maxLength(1));
const method = z.enum(["GET", "POST"]);
const webSocket = z.strictObject({
  type: z.literal("websocket"),
  uri: z.url({ protocol: /^wss?$/ }),
  "content-type": z.string().check(z.regex(/^audio\/l16;rate=(8000|16000|24000)$/)),
  headers: z.optional(
    z
      .record(z.string(), z.unknown())
      .check(
        z.refine(
          (headers) => Buffer.byteLength(JSON.stringify(headers)) <= 512,
          "must be 512 bytes at most",
        ),
      ),
  ),
  authorization: z.optional(z.unknown()),
});
const connect = z.strictObject({
  action: z.literal("connect"),
  endpoint: z.array(webSocket).check(z.minLength(1), z.maxLength(1)),
  ...unchecked("eventType", "eventUrl", "eventMethod", "from", "timeout", "limit"),
});
/** Form of `POST /v1/calls`, as far as calls by this project may use it. */
const callSchema = z
  .strictObject({
    to: z.array(phone).check(z.minLength(1), z.maxLength(1)),
    from: z.optional(phone),
    random_from_number: z.optional(z.boolean()),
    ncco: z.optional(z.array(connect)),
    answer_url: z.optional(urls),
    answer_method: z.optional(method),
    event_url: z.optional(urls),
    event_method: z.optional(method),
    machine_detection: z.optional(z.enum(["continue", "hangup"])),
    advanced_machine_detection: z.optional(z.unknown()),
    length_timer: z.optional(z.int().check(z.minimum(1), z.maximum(7200))),
    ringing_timer: z.optional(z.int().check(z.minimum(1), z.maximum(120))),
  })
  .check(
    z.refine(({ ncco, answer_url }) => (ncco === undefined) !== (answer_url === undefined), {
      path: ["answer_url"],
      error: "either ncco or answer_url is required",
    }),
  );
const time = z
  .string()
  .check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, "must be a time in UTC"));
const listSchema = z.strictObject({
  status: z.optional(text),
  date_start: z.optional(time),
  date_end: z.optional(time),
  page_size: z.optional(digits.check(z.refine((size) => Number(size) >= 1 && Number(size) <= 100))),
  record_index: z.optional(digits),
  order: z.optional(z.enum(["asc", "desc"])),
  conversation_uuid: z.optional(text),
});

/** A key pair of 2,048 bits takes a while to make, so it is made where it is needed. */
let keys: { privateKey: string; publicKey: string } | undefined;
function keyPair() {
  keys ??= generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  return keys;
}

/**
 * Vonage (https://developer.vonage.com/en/api/voice, github.com/Nexmo/api-specification, voice.yml): places calls, reads
 * one, and lists them in pages. Each request carries a token of the application. Times are reported of completed calls
 * alone. Errors are problem details (https://developer.vonage.com/en/api-errors); that of a wrong token has an older
 * form.
 */
export const vonage: StandInType = {
  name: "vonage",
  get secrets() {
    const privateKey = Buffer.from(keyPair().privateKey).toString("base64");
    return { APPLICATION_ID: "78d335fa-323d-0114-9c3d-d6f0d48968cf", PRIVATE_KEY: privateKey };
  },
  create(memory) {
    return {
      credentialProblem: (request) => tokenProblem(request, memory),
      refuse({ fault, text: detail, field }) {
        if (fault === "credentials") {
          return { status: 401, body: { type: "UNAUTHORIZED", error_title: "Unauthorized" } };
        }
        if (fault === "address") return errorOf(404, "not-found", { title: "Not Found", detail });
        const invalid_parameters = [{ name: field[0] ?? "", reason: detail }];
        return errorOf(400, "invalid-params", { title: "Bad Request", invalid_parameters });
      },
      endpoints: [createCall(memory), listCalls(memory), readCall(memory)],
    };
  },
};

function errorOf(status: number, fragment: string, more: Record<string, unknown>) {
  const type = `https://developer.vonage.com/api-errors#${fragment}`;
  return { status, body: { type, ...more, instance: randomUUID() } };
}

/** Returns what is wrong with a request's token. */
async function tokenProblem(
  { headers }: StandInRequest,
  { secrets, now }: Memory,
): Promise<string | undefined> {
  const pem = Buffer.from(secrets["PRIVATE_KEY"] ?? "", "base64").toString();
  try {
    const { payload } = await jwtVerify(
      headers.authorization?.replace(/^Bearer /, "") ?? "",
      createPublicKey(pem),
      {
        algorithms: ["RS256"],
        currentDate: new Date(now()),
        requiredClaims: ["application_id", "exp", "iat", "jti"],
      },
    );
    if (payload.iat !== undefined && payload.iat * 1000 > now()) return "iat is in the future";
    return payload["application_id"] === secrets["APPLICATION_ID"]
      ? undefined
      : "the application is unknown";
  } catch {
    return "the token is wrong";
  }
}

function createCall({ calls }: Memory) {
  return endpoint({
    method: "POST",
    path: /^\/v1\/calls$/,
    purpose: "call",
    body: callSchema,
    perform({ body }) {
      const sent = body.ncco?.[0]?.endpoint[0]?.headers?.["call_id"];
      const answered = /[?&]call_id=(\w+)/.exec(body.answer_url?.[0] ?? "")?.[1];
      const ourId = typeof sent === "string" ? sent : answered;
      const called = `+${body.to[0]?.number ?? ""}`;
      const { id } = calls.place({ id: randomUUID(), number: called, ourId, request: body });
      const conversation_uuid = conversationOf(id);
      const status = "started";
      return { status: 201, body: { uuid: id, status, direction: "outbound", conversation_uuid } };
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
      const since = Date.parse(query.date_start ?? "1970-01-01");
      const until = Date.parse(query.date_end ?? "9999-12-31");
      const rows = calls
        .listed()
        .filter(({ at }) => at >= since && at <= until)
        .map((call) => rowOf(call, progressOf(call, memory)))
        .filter(({ status }) => (query.status ?? status) === status);
      const sorted = query.order === "desc" ? rows : rows.toReversed();
      const page_size = Number(query.page_size ?? 10);
      const record_index = Number(query.record_index ?? 0);
      const end = record_index + page_size;
      const link = (index: number) => ({
        href: `/calls?page_size=${page_size}&record_index=${index}&order=${query.order ?? "asc"}`,
      });
      const next = end < rows.length ? { next: link(end) } : {};
      const body = {
        count: rows.length,
        page_size,
        record_index,
        _links: { self: link(record_index), ...next },
        _embedded: { calls: sorted.slice(record_index, end) },
      };
      return { status: 200, body };
    },
  });
}

function readCall(memory: Memory) {
  return endpoint({
    method: "GET",
    path: /^\/v1\/calls\/(?<uuid>[^/]+)$/,
    purpose: "look_up",
    perform({ path }) {
      const call = memory.calls.find(path["uuid"] ?? "");
      return call === undefined
        ? errorOf(404, "not-found", { title: "Not Found", detail: "The call does not exist" })
        : { status: 200, body: rowOf(call, progressOf(call, memory)) };
    },
  });
}

const states = { queued: "started", ringing: "ringing", "in-progress": "answered" };
const ends = {
  completed: "completed",
  voicemail: "completed",
  no_answer: "timeout",
  busy: "busy",
};

/** Returns a call as Vonage reads and lists it. A child leg is that to the WebSocket. */
function rowOf(
  { id, number: called, parentId, request }: StandInCall,
  { state, fate, answeredAt, endedAt, seconds }: Progress,
) {
  const status = state === "ended" ? ends[fate] : states[state];
  const callee = { type: "phone", number: called.slice(1) };
  const isCompleted = status === "completed";
  return {
    _links: { self: { href: `/calls/${id}` } },
    uuid: id,
    conversation_uuid: conversationOf(parentId ?? id),
    to: parentId === undefined ? callee : { type: "websocket", uri: "wss://example.com/audio" },
    from: request["from"] ?? { type: "phone", number: "12025550100" },
    status,
    direction: "outbound",
    rate: isCompleted ? "0.39" : null,
    price: isCompleted ? "0.39" : null,
    duration: isCompleted ? String(seconds) : null,
    start_time: isCompleted ? timeOf(answeredAt) : null,
    end_time: isCompleted ? timeOf(endedAt) : null,
    network: isCompleted ? "65512" : null,
  };
}

/** Returns a time in the form of the reference. */
function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

function conversationOf(id: string): string {
  return `CON-${id}`;
}
