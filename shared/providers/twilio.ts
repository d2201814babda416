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
 * are `{code, message}`: see `toRefusal`. The message may quote the number.
 *
 * No field of a call holds our id, so a look-up finds calls by number and time. `StartTime>` takes a day, or a time
 * in UTC in the form of Twilio's SDK. `start_time` is empty while a call is queued, so queued calls are listed
 * separately. Their `date_created` may be empty at first, too. Only the query of the next page's address is used: its
 * path begins at the host's root, whatever `baseUrl` is.
 */
import type { Route } from "../calls/call-request.ts";
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText, phoneNumber } from "./define-provider.ts";
import { ask, toOutcome, post, createTable } from "./provider-http.ts";
import { createListReader, readRecord } from "./provider-records.ts";
import type { DialingProvider, DialOutcome, FoundCall, ProviderOptions } from "./provider.ts";
import { list, listSchema, record, wholeSecond } from "./twilio-records.ts";
import { contextProblem, instructions } from "./twilio-twiml.ts";
import { toCanonical } from "../telephony/renumbered.ts";

/** Fields of a route at Twilio, or at a provider with the same API. */
export const callFields = () => ({
  /** The calling number, bought from Twilio or verified there. */
  from: phoneNumber,
  /** WebSocket of the user that takes the call's audio. */
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
  /** `MachineDetection`. Twilio passes its result to the URL that it fetches once the call is answered. */
  machineDetection: z.optional(z.enum(["Enable", "DetectMessageEnd"])),
  /** `Timeout`: longest time for which the phone rings. Twilio may add 5 s. */
  ringSeconds: z.optional(z.int().check(z.minimum(1), z.maximum(600))),
});

/** True for a route with one target of an answered call. */
export function hasOneTarget({ stream, answerUrl }: Pick<CallsRoute, "stream" | "answerUrl">) {
  return (stream === undefined) !== (answerUrl === undefined);
}

export const mustHaveOneTarget = "must have either stream or answerUrl";

/** Routes of Twilio, as a dial plan has them. */
export const twilioRoutes = defineRoute(
  "twilio",
  (fields) =>
    z
      .strictObject({
        ...fields,
        baseUrl: z.optional(httpsUrl),
        ...callFields(),
        /** SID of an API key that replaces the account's auth token. */
        apiKey: z.optional(z.string().check(z.regex(/^SK\w+$/, "must be the SID of an API key"))),
        /** `CallReason`, which a branded call shows (limits: Twilio error 32115). */
        callReason: z.optional(
          z.string().check(z.regex(/^[ -~]{1,50}$/, "must be 1 to 50 printable ASCII characters")),
        ),
      })
      .check(z.refine(hasOneTarget, mustHaveOneTarget)),
  {
    callsPerSecond: 1,
    hasCallerId: true,
    secrets: ["ACCOUNT_SID", "AUTH_TOKEN"],
    reportsVoicemail: ({ machineDetection }) => machineDetection !== undefined,
    contextProblem: (request, { stream }) => contextProblem(request, stream),
  },
);
export type TwilioRoute = z.infer<typeof twilioRoutes.routeSchema>;

export const twilio = /* @__PURE__ */ defineProvider(twilioRoutes, (options) =>
  createCalls<TwilioRoute>(
    options,
    ({ account, baseUrl = "https://api.twilio.com", apiKey }) => {
      const { secret } = options;
      const accountSid = secret(account, "ACCOUNT_SID") ?? "";
      const password = secret(account, "AUTH_TOKEN") ?? "";
      return toApi(baseUrl, { accountSid, user: apiKey ?? accountSid, password });
    },
    { name: "twilio", codes: twilioCodes },
  ),
);

/** The URL of an account's calls, and the headers of every request to it. */
interface CallsApi {
  url: string;
  headers: Record<string, string>;
}

/** Returns the API of an account below a base address. */
export function toApi(
  baseUrl: string,
  { accountSid, user, password }: { accountSid: string; user: string; password: string },
): CallsApi {
  const credentials = Buffer.from(`${user}:${password}`).toString("base64");
  return {
    url: `${baseUrl}/2010-04-01/Accounts/${encodeURIComponent(accountSid)}/Calls.json`,
    headers: { authorization: `Basic ${credentials}` },
  };
}

/** A route as Twilio's API needs it. */
interface CallsRoute {
  from: string;
  stream?: string | undefined;
  answerUrl?: string | undefined;
  machineDetection?: string | undefined;
  ringSeconds?: number | undefined;
  callReason?: string | undefined;
}

/** Parts of Twilio's API that differ between providers. */
interface Dialect {
  /** Prefix of its codes. */
  name: string;
  codes: typeof twilioCodes;
}

/** Creates the adapter of a provider with Twilio's API. */
export function createCalls<Own extends Route & CallsRoute>(
  { fetch, now }: ProviderOptions,
  apiOf: (route: Own) => CallsApi,
  dialect: Dialect,
): DialingProvider<Own> {
  return {
    async dial({ call: { id, request }, timeoutSeconds, guarded, ...more }, route) {
      const { callbackUrl, reportsAnswer, maxCallMinutes } = more;
      const { url, headers } = apiOf(route);
      const fields = {
        To: request.phone_number,
        From: route.from,
        ...instructions(id, request, route),
        ...optionsOf(route),
        ...(maxCallMinutes === undefined ? {} : { TimeLimit: String(maxCallMinutes * 60) }),
      };
      const callbacks = callbackFields(callbackUrl, reportsAnswer);
      const body = new URLSearchParams([...Object.entries(fields), ...callbacks]).toString();
      const form = { ...headers, "content-type": "application/x-www-form-urlencoded" };
      const answer = await post(guarded(fetch), url, { headers: form, body, timeoutSeconds });
      const exception = (status: number, answered: unknown) => toRefusal(status, answered, dialect);
      return toOutcome(answer, { callIdIn, exception }, now());
    },

    async lookUp({ call, from, until }, route): Promise<FoundCall | undefined> {
      const { url, headers } = apiOf(route);
      // Queued calls are listed first. A call that is dialed meanwhile is in the second list.
      const queries = [{ Status: "queued" }, { "StartTime>": wholeSecond(from) }];
      const found = new Set<string>();
      const callee = toCanonical(call.request.phone_number);
      for (const query of queries) {
        // The filter is the calling number, so that the callee's does not appear in the URL.
        const all = new URLSearchParams({ From: route.from, ...query, PageSize: "500" });
        let page: string | undefined = `${url}?${all.toString()}`;
        for (let pages = 0; page !== undefined; pages++) {
          if (pages === pagesMax) throw new Error("the list of calls is too long");
          const listed = z.built(listSchema).parse(await ask(fetch, page, { headers }));
          for (const { sid, to, direction, parent_call_sid, date_created } of listed.calls) {
            // A child leg, such as that of a <Dial>, is no call of ours.
            const isOther = parent_call_sid || (direction && !ours.has(direction));
            if (toCanonical(to ?? "") !== callee || isOther) continue;
            // A row without a date or direction may be our call or another one. Nothing is certain until Twilio has
            // set both.
            if (!date_created || !direction) return undefined;
            const createdAt = Date.parse(date_created);
            if (createdAt >= from - 1000 && createdAt <= until) found.add(sid); // whole seconds
          }
          page = listed.next_page_uri ? url + queryOf(listed.next_page_uri) : undefined;
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
}

/** Returns the optional parameters of a call. */
function optionsOf({ machineDetection, ringSeconds, callReason }: CallsRoute) {
  return {
    ...(machineDetection === undefined ? {} : { MachineDetection: machineDetection }),
    ...(ringSeconds === undefined ? {} : { Timeout: String(ringSeconds) }),
    ...(callReason === undefined ? {} : { CallReason: callReason }),
  };
}

/**
 * Returns the fields of a call's callbacks. Without `StatusCallbackEvent` Twilio reports only the end.
 *
 * @param reportsAnswer true if Twilio is to report the answer, too
 */
function callbackFields(
  callbackUrl: string | undefined,
  reportsAnswer: boolean | undefined,
): [string, string][] {
  if (callbackUrl === undefined) return [];
  const events = reportsAnswer === true ? ["answered", "completed"] : [];
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

/** Codes have at most six digits: a longer number may be a phone number. SignalWire lists them as texts, too. */
const codeSchema = () =>
  z.union([
    z.int().check(z.minimum(1), z.maximum(999_999)),
    z.pipe(z.string().check(z.regex(/^[1-9]\d{0,5}$/)), z.transform(Number)),
  ]);
const errorSchema = () => z.object({ code: codeSchema() });
const errorsSchema = () => z.object({ errors: z.tuple([errorSchema()], errorSchema()) });

/** Returns the code of an error, or of the first one in a list. */
function codeIn(body: unknown): number | undefined {
  const listed = z.built(errorsSchema).safeParse(body).data?.errors[0];
  return (listed ?? z.built(errorSchema).safeParse(body).data)?.code;
}

/** Returns the outcome of an error code if it differs from the status. */
function toRefusal(
  status: number,
  body: unknown,
  { name, codes }: Dialect,
): DialOutcome | undefined {
  const isRefused = [400, 401, 402, 403, 404, 422, 429].includes(status);
  const number = isRefused && codeIn(body);
  if (!number) return undefined;
  const code = `${name}_${number}`;
  const kind =
    codes.get(String(number)) ?? ([400, 404, 422].includes(status) ? "rejected" : undefined);
  if (kind === "not_placed" && number === 10_004) return { kind, code, isFull: true };
  return kind === "rejected" && blamingCodes.has(number)
    ? { kind, code, blamesNumber: true }
    : kind && { kind, code };
}

/** Error codes that say more than their status (https://www.twilio.com/docs/api/errors). */
export const twilioCodes = /* @__PURE__ */ createTable<Exclude<DialOutcome["kind"], "placed">>(
  // Too many requests at once (20429), or calls (10004).
  ["not_placed", "10004 20429 86008"],
  // Authentication (20003), test credentials (20008), a key without this permission (70051), access denied (20006),
  // an account not active (20005), suspended or closed (20403), without calls (10005), on trial without this feature
  // (10002). The URL of callbacks (21609) or their events (21626), which this service sends with every call, are not
  // valid.
  ["account_refused", "21609 21626"],
  ["account_refused", "10001 10002 10005 20003 20005 20006 20008 20010 20403 70051 90010"],
  // The calling number is not verified (21210), not valid (21212) or missing (21213); answerUrl (21205), ringSeconds
  // (21208), machineDetection (21234) or callReason (32115) is not valid; there is no such account, or it has no calls (20404).
  ["route_refused", "20404 21205 21208 21210 21212 21213 21234 32115"],
  // On trial: the callee is not verified (21219), or not completely (573005), or is another one (573002).
  ["rejected", "21219 573002 573005"],
  // The call has been initiated already.
  ["unknown", "21204"],
);

/**
 * Codes that blame the number called: not valid (21211, 21217), not to be reached (21214), a premium number (21202); on
 * trial with another calling number (573002), or not yet verified (573005). 21219 is a trial account's own.
 */
const blamingCodes = new Set([21_202, 21_211, 21_214, 21_217, 573_002, 573_005]);

/** Returns the query of the next page's address. */
function queryOf(address: string): string {
  const [, query] = address.split("?", 2);
  if (!query) throw new Error("the next page has no query");
  return `?${query}`;
}

/** Maximum pages, of 500 calls of one number, that a look-up reads. */
const pagesMax = 10;

/** Directions of a call that was placed by this API. SignalWire's specification has `outbound`, for child legs, too. */
const ours = new Set(["outbound-api", "outbound"]);
