import type { CallRequest } from "../calls/call.ts";
import * as z from "../platform/zod.ts";
import type { DialOutcome, FoundCall, ProviderAdapter } from "./dialing-provider.ts";
import { ask, outcomeOfJson, post } from "./post.ts";
import { listReader, readRecord } from "./results/result.ts";
import { callbackFields, callSchema, resultOfCall, twilioRecord } from "./results/twilio.ts";
import { type TwilioRoute, twimlOf } from "./routes/twilio.ts";

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
export const twilio: ProviderAdapter<TwilioRoute> = {
  create({ secret, fetch, now }) {
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
      async dial({ call: { id, request }, timeoutSeconds, callbackUrl, tellsAnswer }, route) {
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
        const answer = await post(fetch, url, { headers: form, body }, timeoutSeconds);
        return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn, exception);
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
            const listed = listSchema.parse(await ask(fetch, page, { headers }));
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
        return readRecord(fetch, url.replace(/\.json$/, path), headers, placed, twilioRecord);
      },

      listResults: listReader(fetch, apiOf, {
        rowsMax: 1000,
        ask(from, limit, next) {
          const query = { "StartTime>": wholeSecond(from), PageSize: String(limit) };
          return { path: next ?? `?${new URLSearchParams(query).toString()}` };
        },
        read(answer) {
          const { calls, next_page_uri } = listSchema.parse(answer);
          return { rows: calls, next: next_page_uri?.replace(/^[^?]*/, "") };
        },
        idOf({ sid }) {
          return sid;
        },
        resultOf: resultOfCall,
      }),
    };
  },
};

/** Maximum pages, of 500 calls of one number, that a look-up reads. */
const pagesMax = 10;

/** Direction of a call that was placed by this API. */
const ours = "outbound-api";

const createdSchema = z.object({ sid: z.string().check(z.minLength(1), z.maxLength(200)) });
/** Codes have at most six digits: a longer number may be a phone number. */
const errorSchema = z.object({ code: z.int().check(z.minimum(1), z.maximum(999_999)) });
const listSchema = z.object({
  calls: z.array(callSchema),
  next_page_uri: z.nullish(z.string().check(z.regex(/^\/(?!\/)/))),
});

/** Returns a time in UTC in the form of Twilio's own SDK. */
function wholeSecond(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}

function callIdIn(body: unknown): string | undefined {
  return createdSchema.safeParse(body).data?.sid;
}

/** Returns the instructions for the call: TwiML, or the URL that serves it. */
function instructions(
  id: string,
  request: CallRequest,
  { stream, answerUrl }: TwilioRoute,
): Record<string, string> {
  if (stream !== undefined) return { Twiml: twimlOf(id, request, stream) };
  const url = new URL(answerUrl ?? "");
  url.searchParams.set("call_id", id);
  return { Url: url.href };
}

/** Returns the optional parameters of a call. */
function optionsOf({ machineDetection, ringSeconds, callReason }: TwilioRoute) {
  return {
    ...(machineDetection === undefined ? {} : { MachineDetection: machineDetection }),
    ...(ringSeconds === undefined ? {} : { Timeout: String(ringSeconds) }),
    ...(callReason === undefined ? {} : { CallReason: callReason }),
  };
}

/** Error codes that say more than their status (https://www.twilio.com/docs/api/errors). */
const codes = new Map<number, Exclude<DialOutcome["kind"], "placed">>([
  [20429, "not_placed"], // too many requests at once
  [10004, "not_placed"], // concurrent calls
  [86008, "not_placed"],
  [20003, "account_refused"], // authentication
  [20005, "account_refused"], // account not active
  [10001, "account_refused"],
  [90010, "account_refused"],
  [10005, "account_refused"], // an account without calls
  [20403, "account_refused"], // account suspended or closed
  [70051, "account_refused"], // a key without this permission
  [20006, "account_refused"], // access denied
  [20008, "account_refused"], // test credentials
  [20010, "account_refused"],
  [10002, "account_refused"], // a trial account without this feature
  [21210, "route_refused"], // the calling number is not verified
  [21212, "route_refused"], // the calling number is not valid
  [21213, "route_refused"], // the calling number is missing
  [21205, "route_refused"], // the answer URL is not valid
  [21208, "route_refused"], // ringSeconds
  [21234, "route_refused"], // machineDetection
  [20404, "route_refused"], // no such account, or no calls of it
  [21219, "rejected"], // a trial account's unverified callee
  [573002, "rejected"], // a trial account's calling number for another callee
  [21204, "unknown"], // the call has been initiated already
  [573005, "rejected"], // a trial account's callee whose verification is not complete
]);

/** Returns the outcome of an error code if it differs from the status. */
function exception(status: number, body: unknown): DialOutcome | undefined {
  const isRefused = [400, 401, 402, 403, 404, 422, 429].includes(status);
  const number = isRefused && errorSchema.safeParse(body).data?.code;
  if (!number) return undefined;
  const code = `twilio_${number}`;
  const kind = codes.get(number) ?? ([400, 404, 422].includes(status) ? "rejected" : undefined);
  return kind && { kind, code };
}
