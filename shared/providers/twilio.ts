/**
 * Twilio: `POST /2010-04-01/Accounts/{AccountSid}/Calls.json` (https://www.twilio.com/docs/voice/api/call-resource),
 * form-encoded, Basic authentication. Secrets: `TWILIO_ACCOUNT_SID` and `TWILIO_AUTH_TOKEN`. With `apiKey`, the
 * latter is that key's secret.
 *
 * ```
 * To=+12025550123&From=+12025550100&Twiml=<Response><Connect><Stream url="wss://…">
 *   <Parameter name="first_name" value="Ada"/><Parameter name="call_id" value="call_…"/>…</Stream></Connect></Response>
 * ```
 *
 * With `answerUrl`, the request has `Url` instead of `Twiml`, with `call_id` in its query: it cannot carry a
 * context.
 *
 * 201 with `sid`: placed, possibly only in Twilio's own queue. Calls above the account's calls per second wait
 * there for up to a day, past all calling hours, so `callsPerSecond` must not exceed the account's rate. Errors
 * are `{code, message}`: see `exception`. The message may quote the number.
 *
 * No field of a call holds an id of ours, so a look-up finds calls by number and time. `StartTime>` takes a day,
 * or a time in UTC in the form of Twilio's own SDK. `start_time` is empty while a call is queued, so queued calls
 * are listed separately. Their `date_created` is empty at first, too.
 */
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText, phoneNumber } from "./define-provider.ts";
import { ask, toOutcome, post, createTable } from "./provider-http.ts";
import {
  createAnswerers,
  createListReader,
  type ListType,
  optionalText,
  readRecord,
  type RecordType,
  resultOf,
  createWords,
} from "./provider-records.ts";
import type { DialOutcome, FoundCall, ReadResult } from "./provider.ts";
import { contextProblem, instructions } from "./twilio-twiml.ts";

/** Routes of Twilio, as a dial plan has them. */
export const twilioRoutes = defineRoute(
  "twilio",
  (fields) =>
    z
      .strictObject({
        ...fields,
        baseUrl: z.optional(httpsUrl),
        /** The calling number, bought from Twilio or verified there. */
        from: phoneNumber,
        /** Target of the call's audio: a WebSocket of the user's own. */
        stream: z.optional(
          z.url({ protocol: /^wss$/, error: "must be a wss:// URL" }).check(
            z.maxLength(500, "must be at most 500 characters"),
            z.refine((url) => !/[?#@]/.test(url), "must not have a query, a fragment or a user"),
          ),
        ),
        /** URL from which Twilio fetches TwiML once the call is answered, instead of a stream. */
        answerUrl: z.optional(
          z
            .url({ protocol: /^https$/, error: "must be an https URL" })
            .check(z.maxLength(500, "must be at most 500 characters")),
        ),
        /** SID of an API key that replaces the account's auth token. */
        apiKey: z.optional(z.string().check(z.regex(/^SK\w+$/, "must be the SID of an API key"))),
        /** `MachineDetection`. Twilio gives the result to the URL that it fetches once the call is answered. */
        machineDetection: z.optional(z.enum(["Enable", "DetectMessageEnd"])),
        /** `Timeout`: longest time for which the phone rings. Twilio may add 5 s. */
        ringSeconds: z.optional(z.int().check(z.minimum(1), z.maximum(600))),
        /** `CallReason`, which a branded call shows (limits: Twilio error 32115). */
        callReason: z.optional(
          z.string().check(z.regex(/^[ -~]{1,50}$/, "must be 1 to 50 printable ASCII characters")),
        ),
      })
      .check(
        z.refine(({ stream, answerUrl }) => (stream === undefined) !== (answerUrl === undefined), {
          error: "must have either stream or answerUrl",
        }),
      ),
  {
    callsPerSecond: 1,
    secrets: ["ACCOUNT_SID", "AUTH_TOKEN"],
    contextProblem: (request, { stream }) => contextProblem(request, stream),
  },
);
export type TwilioRoute = z.infer<typeof twilioRoutes.routeSchema>;

export const twilio = /* @__PURE__ */ defineProvider(twilioRoutes, ({ secret, fetch, now }) => {
  const apiOf = ({ provider, baseUrl = "https://api.twilio.com", apiKey }: TwilioRoute) => {
    const accountSid = secret(provider, "ACCOUNT_SID") ?? "";
    const credentials = `${apiKey ?? accountSid}:${secret(provider, "AUTH_TOKEN") ?? ""}`;
    return {
      baseUrl,
      url: `${baseUrl}/2010-04-01/Accounts/${encodeURIComponent(accountSid)}/Calls.json`,
      headers: { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
    };
  };
  return {
    async dial({ call: { id, request }, timeoutSeconds, ring, callbackUrl, tellsAnswer }, route) {
      const { url, headers } = apiOf(route);
      const fields = {
        To: request.phone_number,
        From: route.from,
        ...instructions(id, request, route),
        ...optionsOf(route),
      };
      const callbacks = callbackFields(callbackUrl, tellsAnswer);
      const body = new URLSearchParams([...Object.entries(fields), ...callbacks]).toString();
      const form = { ...headers, "content-type": "application/x-www-form-urlencoded" };
      const answer = await post(ring(fetch), url, { headers: form, body, timeoutSeconds });
      return toOutcome(answer, { callIdIn, exception }, now());
    },

    async lookUp({ call, from, until }, route): Promise<FoundCall | undefined> {
      const { baseUrl, url, headers } = apiOf(route);
      // Queued calls are listed first: a call dialed meanwhile is in the second list.
      const queries = [{ Status: "queued" }, { "StartTime>": wholeSecond(from) }];
      const found = new Set<string>();
      for (const query of queries) {
        // The filter is our own number, so that the callee's does not appear in the URL.
        const all = new URLSearchParams({ From: route.from, ...query, PageSize: "500" });
        let page: string | undefined = `${url}?${all.toString()}`;
        for (let pages = 0; page !== undefined; pages++) {
          if (pages === pagesMax) throw new Error("the list of calls is too long");
          const listed = z.built(listSchema).parse(await ask(fetch, page, { headers }));
          for (const { sid, to, direction, date_created } of listed.calls) {
            // A child leg, such as that of a <Dial>, is no call of ours.
            if (to !== call.request.phone_number || (direction ?? ours) !== ours) continue;
            // A row without a date may be of any time, and one without a direction of anybody: either may be
            // ours, or another beside ours. Nothing is certain until Twilio has filled it in.
            if (!date_created || !direction) return undefined;
            const createdAt = Date.parse(date_created);
            if (createdAt >= from - 1000 && createdAt <= until) found.add(sid); // whole seconds
          }
          page = listed.next_page_uri ? baseUrl + listed.next_page_uri : undefined;
        }
      }
      return { by: "number", providerCallIds: [...found] };
    },

    readResult(placed, route) {
      const { url, headers } = apiOf(route);
      const path = `/${encodeURIComponent(placed.providerCallId)}.json`;
      return readRecord(placed, { url: url.replace(/\.json$/, path), headers, record }, fetch);
    },

    listResults: createListReader(fetch, apiOf, list),
  };
});

/** Returns the optional parameters of a call. */
function optionsOf({ machineDetection, ringSeconds, callReason }: TwilioRoute) {
  return {
    ...(machineDetection === undefined ? {} : { MachineDetection: machineDetection }),
    ...(ringSeconds === undefined ? {} : { Timeout: String(ringSeconds) }),
    ...(callReason === undefined ? {} : { CallReason: callReason }),
  };
}

/**
 * Returns the fields of a call's callbacks. Without `StatusCallbackEvent` Twilio tells of the end alone.
 *
 * @param tellsAnswer true if Twilio is to tell of the answer, too
 */
function callbackFields(
  callbackUrl: string | undefined,
  tellsAnswer: boolean | undefined,
): [string, string][] {
  if (callbackUrl === undefined) return [];
  const events = tellsAnswer === true ? ["answered", "completed"] : [];
  return [
    ["StatusCallback", callbackUrl],
    ["StatusCallbackMethod", "POST"],
    ...events.map((event): [string, string] => ["StatusCallbackEvent", event]),
  ];
}

const createdSchema = () => z.object({ sid: idText });

function callIdIn(body: unknown): string | undefined {
  return z.built(createdSchema).safeParse(body).data?.sid;
}

/** Codes have at most six digits: a longer number may be a phone number. */
const errorSchema = () => z.object({ code: z.int().check(z.minimum(1), z.maximum(999_999)) });

/** Returns the outcome of an error code if it differs from the status. */
function exception(status: number, body: unknown): DialOutcome | undefined {
  const isRefused = [400, 401, 402, 403, 404, 422, 429].includes(status);
  const number = isRefused && z.built(errorSchema).safeParse(body).data?.code;
  if (!number) return undefined;
  const code = `twilio_${number}`;
  const kind =
    codes.get(String(number)) ?? ([400, 404, 422].includes(status) ? "rejected" : undefined);
  if (kind === "not_placed" && number === 10_004) return { kind, code, isFull: true };
  return kind && { kind, code };
}

/** Error codes that say more than their status (https://www.twilio.com/docs/api/errors). */
const codes = /* @__PURE__ */ createTable<Exclude<DialOutcome["kind"], "placed">>(
  // Too many requests at once (20429), or calls (10004).
  ["not_placed", "10004 20429 86008"],
  // Authentication (20003), test credentials (20008), a key without this permission (70051), access denied (20006), an
  // account not active (20005), suspended or closed (20403), without calls (10005), on trial without this feature (10002).
  ["account_refused", "10001 10002 10005 20003 20005 20006 20008 20010 20403 70051 90010"],
  // The calling number is not verified (21210), not valid (21212) or missing (21213); answerUrl (21205), ringSeconds
  // (21208) or machineDetection (21234) is not valid; there is no such account, or it has no calls (20404).
  ["route_refused", "20404 21205 21208 21210 21212 21213 21234"],
  // On trial: the callee is not verified (21219), or not completely (573005), or is another one (573002).
  ["rejected", "21219 573002 573005"],
  // The call has been initiated already.
  ["unknown", "21204"],
);

/** Maximum pages, of 500 calls of one number, that a look-up reads. */
const pagesMax = 10;

/** Direction of a call that was placed by this API. */
const ours = "outbound-api";

const listSchema = () =>
  z.object({
    calls: z.array(callSchema()),
    next_page_uri: z.nullish(z.string().check(z.regex(/^\/(?!\/)/))),
  });

/** Returns a time in UTC in the form of Twilio's own SDK. */
function wholeSecond(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}

/** A call as Twilio reads and lists it. Times are in the form of RFC 2822. */
const callSchema = () =>
  z.object({
    sid: idText,
    to: z.nullish(z.string()),
    direction: z.nullish(z.string()),
    /** May be empty while a call is queued. */
    date_created: z.nullish(z.string()),
    status: optionalText(),
    answered_by: optionalText(),
    end_time: optionalText(),
    /** Seconds, and empty for a call that nobody answered. */
    duration: optionalText(),
  });

/** Values of `status` (https://www.twilio.com/docs/voice/api/call-resource#call-status-values). */
const words = /* @__PURE__ */ createWords(
  ["live", "queued initiated ringing in-progress"],
  ["completed", "completed"],
  ["busy", "busy"],
  ["no_answer", "no-answer"],
  // A call that was cancelled while it was queued or rang: nobody answered.
  ["failed", "failed canceled"],
);

/**
 * Values of `answered_by`, of calls with `machineDetection`: the reference of calls has the first two, that of
 * the detection the others (https://www.twilio.com/docs/voice/answering-machine-detection). `unknown` tells
 * nothing.
 */
const answeredBy = /* @__PURE__ */ createAnswerers(
  "human",
  "machine machine_start machine_end_beep machine_end_silence machine_end_other fax",
);

/** `start_time` is that of the dialing, so the answer's time is told by the end and the length. */
function resultOfCall(call: z.infer<ReturnType<typeof callSchema>>): ReadResult {
  const { status, answered_by, end_time, duration } = call;
  const seconds = Number(duration ?? "");
  const human = answeredBy.get(answered_by ?? "");
  const answeredAt =
    end_time && duration && seconds > 0 ? Date.parse(end_time) - seconds * 1000 : null;
  const isAnswered = status === "in-progress";
  const facts = { word: status, human, isAnswered, answeredAt };
  return resultOf(words, { ...facts, endedAt: end_time, seconds: duration });
}

const list: ListType<z.infer<ReturnType<typeof callSchema>>> = {
  rowsMax: 1000,
  ask(from, limit, next) {
    const query = { "StartTime>": wholeSecond(from), PageSize: String(limit) };
    return { path: next ?? `?${new URLSearchParams(query).toString()}` };
  },
  read(answer) {
    const { calls, next_page_uri } = z.built(listSchema).parse(answer);
    return { rows: calls, next: next_page_uri?.replace(/^[^?]*/, "") };
  },
  idOf: ({ sid }) => sid,
  resultOf: resultOfCall,
};

const record: RecordType<z.infer<ReturnType<typeof callSchema>>> = {
  schema: callSchema,
  resultOf: resultOfCall,
};
