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

/** Form of `POST …/Calls.json`, as far as calls by this project may use it. */
const callSchema = z
  .strictObject({
    To: e164,
    From: e164,
    Twiml: z.optional(z.string().check(z.maxLength(4000), z.regex(/^<Response>.*<\/Response>$/s))),
    Url: z.optional(z.url()),
    ApplicationSid: z.optional(text),
    Method: z.optional(z.enum(["GET", "POST"])),
    StatusCallback: z.optional(z.url()),
    StatusCallbackMethod: z.optional(z.enum(["GET", "POST"])),
    StatusCallbackEvent: z.optional(z.union([text, z.array(text)])),
    Timeout: z.optional(
      digits.check(z.refine((seconds) => Number(seconds) >= 1 && Number(seconds) <= 600)),
    ),
    TimeLimit: z.optional(digits),
    MachineDetection: z.optional(z.enum(["Enable", "DetectMessageEnd"])),
    MachineDetectionTimeout: z.optional(digits),
    AsyncAmd: z.optional(z.enum(["true", "false"])),
    AsyncAmdStatusCallback: z.optional(z.url()),
    CallReason: z.optional(z.string()),
    Record: z.optional(z.enum(["true", "false"])),
    ...unchecked(
      "AsyncAmdStatusCallbackMethod",
      "Byoc",
      "CallToken",
      "CallerId",
      "FallbackMethod",
      "FallbackUrl",
      "MachineDetectionSilenceTimeout",
      "MachineDetectionSpeechEndThreshold",
      "MachineDetectionSpeechThreshold",
      "RecordingChannels",
      "RecordingStatusCallback",
      "RecordingStatusCallbackEvent",
      "RecordingStatusCallbackMethod",
      "RecordingTrack",
      "SendDigits",
      "SipAuthPassword",
      "SipAuthUsername",
      "Trim",
    ),
  })
  .check(
    z.refine(({ Twiml, Url, ApplicationSid }) => (Twiml ?? Url ?? ApplicationSid) !== undefined, {
      path: ["Url"],
      error: "Url, Twiml or ApplicationSid is required",
    }),
  );

const statuses = ["queued", "ringing", "in-progress", "completed", "busy", "failed", "no-answer"];
/** A day, or a time in UTC. */
const time = z
  .string()
  .check(z.regex(/^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?$/, "must be a day or a time"));
const listSchema = z.strictObject({
  To: z.optional(e164),
  From: z.optional(e164),
  ParentCallSid: z.optional(text),
  Status: z.optional(z.enum([...statuses, "canceled"])),
  StartTime: z.optional(time),
  "StartTime<": z.optional(time),
  "StartTime>": z.optional(time),
  PageSize: z.optional(digits.check(z.refine((size) => Number(size) >= 1 && Number(size) <= 1000))),
  Page: z.optional(digits),
  PageToken: z.optional(text),
});

/**
 * Twilio (https://www.twilio.com/docs/voice/api/call-resource): places calls, reads one, and lists them in
 * pages. A queued call has neither `start_time` nor `date_created`. Errors are `{code, message, more_info,
 * status}` (https://www.twilio.com/docs/usage/twilios-response).
 */
export const twilio: StandInType = {
  name: "twilio",
  secrets: { ACCOUNT_SID: `AC${"0".repeat(32)}`, AUTH_TOKEN: "stand-in-token" },
  create: (memory) =>
    createApi(memory, {
      root: "",
      createId: () => hexId("CA"),
      account: memory.secrets["ACCOUNT_SID"] ?? "",
      password: memory.secrets["AUTH_TOKEN"] ?? "",
      users: /^SK\w+$/,
    }),
};

/** Differences between Twilio and a provider that has its API. */
interface Variant {
  /** Path before the API's version. */
  root: string;
  createId(): string;
  account: string;
  password: string;
  /** Other users than the account that may sign in. */
  users?: RegExp;
}
type Api = Memory & Variant;

/** Creates the API of Twilio, or of a provider that has it. */
export function createApi(memory: Memory, variant: Variant): ReturnType<StandInType["create"]> {
  const api = { ...memory, ...variant };
  const { account, password, users } = variant;
  return {
    credentialProblem({ headers, path }) {
      const basic = Buffer.from((headers.authorization ?? "").replace("Basic ", ""), "base64");
      const [user = "", given] = basic.toString().split(":");
      if (user !== account && users?.test(user) !== true) return "the user is unknown";
      if (given !== password) return "the password is wrong";
      return path.includes(`/Accounts/${account}/`) ? undefined : "the path names another account";
    },
    refuse({ fault, text: message, field }) {
      if (fault === "credentials") return errorOf(401, 20003, "Authenticate");
      if (fault === "address") return errorOf(404, 20404, "The requested resource was not found");
      return errorOf(400, field[0] === "To" ? 21211 : 21400, message);
    },
    endpoints: [dial(api), listCalls(api), readCall(api)],
  };
}

const accountPath = "/2010-04-01/Accounts/(?<account>[^/]+)";

const errorOf = (status: number, code: number, message: string) => {
  const more_info = `https://www.twilio.com/docs/errors/${code}`;
  return { status, body: { code, message, more_info, status } };
};

function dial(api: Api) {
  const { calls, root } = api;
  return endpoint({
    method: "POST",
    path: new RegExp(`^${root}${accountPath}/Calls\\.json$`),
    purpose: "call",
    content: "form",
    body: callSchema,
    perform({ body }) {
      const ourId =
        /name="call_id" value="(\w+)"/.exec(body.Twiml ?? "")?.[1] ??
        /[?&]call_id=(\w+)/.exec(body.Url ?? "")?.[1];
      const call = calls.place({ id: api.createId(), number: body.To, ourId, request: body });
      const queued = progressOf({ ...call, status: "queued" }, api);
      return { status: 201, body: rowOf(call, queued, api) };
    },
  });
}

function listCalls(api: Api) {
  const { calls, now, root } = api;
  return endpoint({
    method: "GET",
    path: new RegExp(`^${root}${accountPath}/Calls\\.json$`),
    purpose: "look_up",
    query: listSchema,
    perform({ query, path }) {
      const size = Number(query.PageSize ?? 50);
      const page = Number(query.Page ?? 0);
      // Most of many calls are of another time, so that their rows need not be made.
      const isOfTime = timeFilter(query, now());
      const found = calls
        .listed()
        .filter(isOfTime)
        .map((call) => rowOf(call, progressOf(call, api), api))
        .filter((row) => isAskedFor(row, query));
      const address = `${root}/2010-04-01/Accounts/${path["account"]}/Calls.json`;
      const pageUri = (number: number) => {
        const given = Object.entries(query).map(([name, value]) => [name, String(value)]);
        const parameters = { ...Object.fromEntries(given), Page: String(number) };
        return `${address}?${new URLSearchParams(parameters).toString()}`;
      };
      const end = (page + 1) * size;
      const body = {
        calls: found.slice(page * size, end),
        page,
        page_size: size,
        first_page_uri: pageUri(0),
        next_page_uri: end < found.length ? pageUri(page + 1) : null,
        previous_page_uri: page > 0 ? pageUri(page - 1) : null,
      };
      return { status: 200, body };
    },
  });
}

function readCall(api: Api) {
  const { calls, root } = api;
  return endpoint({
    method: "GET",
    path: new RegExp(`^${root}${accountPath}/Calls/(?<sid>[\\w-]+)\\.json$`),
    purpose: "look_up",
    perform({ path }) {
      const call = calls.find(path["sid"] ?? "");
      return call === undefined
        ? errorOf(404, 20404, "The requested resource was not found")
        : { status: 200, body: rowOf(call, progressOf(call, api), api) };
    },
  });
}

const ends = {
  completed: "completed",
  voicemail: "completed",
  no_answer: "no-answer",
  busy: "busy",
};

/** Returns a call in the form of Twilio's lists; times in RFC 2822. `answered_by` asks for the detection. */
function rowOf(
  call: StandInCall,
  { state, fate, answeredAt, endedAt, seconds }: Progress,
  { account }: Api,
) {
  const isQueued = state === "queued";
  const timeOf = (ms: number) => new Date(ms).toUTCString().replace("GMT", "+0000");
  const at = timeOf(call.at);
  const isDetected = call.request["MachineDetection"] !== undefined && answeredAt !== undefined;
  const from = call.request["From"];
  return {
    sid: call.id,
    account_sid: account,
    parent_call_sid: call.parentId ?? null,
    to: call.number,
    from: typeof from === "string" ? from : "+12025550100",
    status: state === "ended" ? (call.endedReason ?? ends[fate]) : state,
    answered_by: isDetected ? (fate === "voicemail" ? "machine" : "human") : null,
    direction: call.parentId === undefined ? "outbound-api" : "outbound-dial",
    date_created: isQueued ? null : at,
    start_time: isQueued ? null : at,
    end_time: endedAt === undefined ? null : timeOf(endedAt),
    duration: answeredAt !== undefined && endedAt !== undefined ? String(seconds) : null,
    price: null,
    api_version: "2010-04-01",
  };
}

function isAskedFor(row: ReturnType<typeof rowOf>, query: z.infer<typeof listSchema>): boolean {
  if (query.From !== undefined && row.from !== query.From) return false;
  if (query.To !== undefined && row.to !== query.To) return false;
  if (query.Status !== undefined && row.status !== query.Status) return false;
  return query.ParentCallSid === undefined || row.parent_call_sid === query.ParentCallSid;
}

/** Returns the filter of a list by the times of its calls, which Twilio has in whole seconds. */
function timeFilter(
  { StartTime: day, "StartTime>": after, "StartTime<": before }: z.infer<typeof listSchema>,
  now: number,
): (call: StandInCall) => boolean {
  if (after === undefined && before === undefined && day === undefined) return () => true;
  const from = Date.parse(after ?? "1970-01-01");
  const until = before === undefined ? now : Date.parse(before);
  return ({ at, status }) => {
    if (status === "queued") return false; // such a call has no time to be compared
    const startedAt = Math.floor(at / 1000) * 1000;
    if (day === undefined) return startedAt >= from && startedAt <= until;
    return new Date(startedAt).toISOString().slice(0, 10) === day.slice(0, 10);
  };
}
