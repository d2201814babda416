import * as z from "#shared/lib/zod.ts";
import { hexId, type StandInCall } from "./calls.ts";
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

const number = z.string().check(z.regex(/^\+?\d{7,15}$/, "must be a number"));
const event = z.optional(z.enum(["terminal", "answered"]));
/** Form of `POST …/Calls/connect` that connects a number with a flow. With `To` besides, Exotel refuses it. */
const callSchema = z.strictObject({
  From: number,
  CallerId: number,
  Url: z
    .string()
    .check(
      z.regex(/^http:\/\/my\.exotel\.com\/[^/]+\/exoml\/start_voice\/\d+$/, "must be a flow's URL"),
    ),
  CallType: z.optional(z.literal("trans")),
  TimeLimit: z.optional(digits.check(z.refine((limit) => Number(limit) <= 14_400))),
  TimeOut: z.optional(digits),
  StatusCallback: z.optional(z.url()),
  "StatusCallbackEvents[0]": event,
  "StatusCallbackEvents[1]": event,
  StatusCallbackContentType: z.optional(z.enum(["multipart/form-data", "application/json"])),
  CustomField: z.optional(z.string().check(z.maxLength(128))),
  ...unchecked("Record", "RecordingChannels", "RecordingFormat"),
});
/** A range of times, one after the other. */
const range = z
  .string()
  .check(
    z.regex(
      /^gte:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(;lte:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)?$/,
      "must be a range",
    ),
  );
const listSchema = z.strictObject({
  Sid: z.optional(text),
  DateCreated: z.optional(range),
  To: z.optional(text),
  From: z.optional(text),
  Status: z.optional(text),
  Duration: z.optional(text),
  Price: z.optional(text),
  Direction: z.optional(z.enum(["inbound", "outbound-dial", "outbound-api"])),
  PhoneNumber: z.optional(text),
  PageSize: z.optional(digits.check(z.refine((size) => Number(size) >= 1 && Number(size) <= 100))),
  SortBy: z.optional(z.enum(["DateCreated:asc", "DateCreated:desc"])),
  Before: z.optional(text),
  After: z.optional(text),
});

/**
 * Exotel's Voice v1 (https://developer.exotel.com/docs/voice-v1/api-reference/connect-to-flow, …/call-details): calls a
 * number and connects it with a flow, reads one call, and lists those that have ended. Times are India's. Errors are
 * `{RestException: {Status, Message}}`.
 */
export const exotel: StandInType = {
  name: "exotel",
  secrets: { ACCOUNT_SID: "standin1", API_KEY: "stand-in-key", API_TOKEN: "stand-in-token" },
  create(memory) {
    const { secrets } = memory;
    return {
      credentialProblem({ headers, path }) {
        const basic = Buffer.from((headers.authorization ?? "").replace("Basic ", ""), "base64");
        const [key, token] = basic.toString().split(":");
        if (key !== secrets["API_KEY"] || token !== secrets["API_TOKEN"]) return "the key is wrong";
        return path.startsWith(`/v1/Accounts/${secrets["ACCOUNT_SID"]}/`)
          ? undefined
          : "the path names another account";
      },
      refuse({ fault, text: message }) {
        if (fault === "credentials") return errorOf(401, "Authentication failed");
        return errorOf(fault === "address" ? 404 : 400, message);
      },
      endpoints: [connect(memory), listCalls(memory), readCall(memory)],
    };
  },
};

function errorOf(Status: number, Message: string): StandInAnswer {
  return { status: Status, body: { RestException: { Status, Message } } };
}

const account = "/v1/Accounts/(?<account>[^/]+)";

function connect({ calls }: Memory) {
  return endpoint({
    method: "POST",
    path: new RegExp(`^${account}/Calls/connect\\.json$`),
    purpose: "call",
    content: "form",
    body: callSchema,
    perform({ body }) {
      const call = calls.place({
        id: hexId(""),
        number: body.From,
        ourId: body.CustomField,
        request: body,
      });
      const dialing = { state: "in-progress", fate: "completed", seconds: 0 } as const;
      return { status: 200, body: { Call: rowOf(call, dialing) } };
    },
  });
}

function listCalls(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "GET",
    path: new RegExp(`^${account}/Calls\\.json$`),
    purpose: "look_up",
    query: listSchema,
    perform({ query, path }) {
      const [, since = "", , until = "9999"] =
        /^gte:([^;]+)(;lte:(.+))?$/.exec(query.DateCreated ?? "") ?? [];
      const rows = calls
        .listed()
        .map((call) => ({ call, progress: progressOf(call, memory) }))
        .filter(({ progress }) => progress.state === "ended")
        .map(({ call, progress }) => rowOf(call, progress))
        .filter(({ DateCreated }) => DateCreated >= since && DateCreated <= until)
        .filter(({ Direction }) => (query.Direction ?? Direction) === Direction);
      const sorted = query.SortBy === "DateCreated:asc" ? rows.toReversed() : rows;
      const PageSize = Number(query.PageSize ?? 50);
      const start = Number(query.After ?? 0);
      const end = start + PageSize;
      const page = `/v1/Accounts/${path["account"]}/Calls.json?PageSize=${PageSize}`;
      const NextPageUri = end < rows.length ? `${page}&After=${end}` : null;
      const Metadata = { Total: rows.length, PageSize, PrevPageUri: null, NextPageUri };
      return { status: 200, body: { Metadata, Calls: sorted.slice(start, end) } };
    },
  });
}

function readCall(memory: Memory) {
  return endpoint({
    method: "GET",
    path: new RegExp(`^${account}/Calls/(?<sid>[^/]+)\\.json$`),
    purpose: "look_up",
    perform({ path }) {
      const call = memory.calls.find(path["sid"] ?? "");
      return call === undefined
        ? errorOf(404, "The call was not found")
        : { status: 200, body: { Call: rowOf(call, progressOf(call, memory)) } };
    },
  });
}

const ends = {
  completed: "completed",
  voicemail: "completed",
  no_answer: "no-answer",
  busy: "busy",
};

/** Returns a call in the form of the reference. One of India has its number without the country code. */
function rowOf(
  { id, at, number: called, parentId, request }: StandInCall,
  { state, fate, answeredAt, endedAt, seconds }: Progress,
) {
  const caller = request["CallerId"];
  return {
    Sid: id,
    ParentCallSid: parentId ?? null,
    DateCreated: timeOf(at) ?? "",
    DateUpdated: timeOf(endedAt ?? at),
    AccountSid: "standin1",
    To: null,
    From: called.replace(/^\+91/, "0"),
    PhoneNumberSid: typeof caller === "string" ? caller : "08047091234",
    Status: state === "ended" ? ends[fate] : state,
    StartTime: timeOf(at),
    EndTime: timeOf(endedAt),
    Duration: endedAt === undefined ? null : String(answeredAt === undefined ? 0 : seconds),
    Price: null,
    Direction: parentId === undefined ? "outbound-api" : "outbound-dial",
    AnsweredBy: null,
    RecordingUrl: null,
  };
}

/** Returns a time of India in the form of the reference. */
function timeOf(ms: number | undefined): string | null {
  return ms === undefined
    ? null
    : new Date(ms + 19_800_000).toISOString().slice(0, 19).replace("T", " ");
}
