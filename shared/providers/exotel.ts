/**
 * Exotel: `POST /v1/Accounts/{sid}/Calls/connect.json`, form-encoded, Basic authentication
 * (https://developer.exotel.com/docs/voice-v1/api-reference/connect-to-flow). It calls `From`, which is the callee,
 * and connects the answered call with a call flow. Secrets: `EXOTEL_ACCOUNT_SID`, `EXOTEL_API_KEY` and
 * `EXOTEL_API_TOKEN`.
 *
 * ```
 * From=+919876543210&CallerId=08047091234&Url=http://my.exotel.com/{sid}/exoml/start_voice/926&CallType=trans
 *   &CustomField=call_…
 * ```
 *
 * `CustomField` holds at most 128 characters. It carries the call's id, so no context can be carried. The flow passes
 * it to the user's server.
 *
 * 200 with `Call.Sid`: placed. Exotel answers once a carrier has taken the call, and tries other carriers until then,
 * so an answer can take long. Exotel says that a call with 500 or 504 was never placed; it stays unknown here, as a
 * gateway's answer proves nothing. Errors are `{RestException: {Status, Message, Code}}`: see `exception`. The
 * message may quote the number.
 *
 * No list repeats `CustomField`, so a look-up finds calls by number and time. The list has only calls that have ended
 * (https://developer.exotel.com/api/call-details-bulk).
 */
import type { Send } from "../lib/http-client.ts";
import { httpsUrl } from "../lib/https-url.ts";
import { hourMs } from "../lib/units.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText } from "./define-provider.ts";
import type { DialOutcome, FoundCall, ReadResult } from "./provider.ts";
import { ask, post, toOutcome } from "./provider-http.ts";
import {
  createListReader,
  createWords,
  type ListType,
  optionalAmount,
  optionalText,
  readRecord,
  type RecordType,
  resultOf,
} from "./provider-records.ts";

/** Routes of Exotel, as a dial plan has them. */
export const exotelRoutes = defineRoute(
  "exotel",
  (fields) =>
    z.strictObject({
      ...fields,
      baseUrl: z.optional(httpsUrl),
      /** The calling number, an ExoPhone, as the dashboard writes it: with or without its country code. */
      from: z.string().check(z.regex(/^\+?\d{7,15}$/, "must be a number of digits")),
      /** Id of the call flow that talks to the callee. */
      flow: z.string().check(z.regex(/^\d{1,20}$/, "must be the id of a flow")),
      /** `TimeOut`: longest time for which the phone rings. */
      ringSeconds: z.optional(z.int().check(z.minimum(1), z.maximum(600))),
    }),
  {
    callsPerSecond: 1,
    listsEnded: true,
    secrets: ["ACCOUNT_SID", "API_KEY", "API_TOKEN"],
    contextProblem: ({ context = {} }) =>
      Object.keys(context).length > 0 ? "must be empty: Exotel's flow cannot carry it" : undefined,
  },
);
type ExotelRoute = z.infer<typeof exotelRoutes.routeSchema>;

export const exotel = /* @__PURE__ */ defineProvider(exotelRoutes, ({ secret, fetch, now }) => {
  const sidOf = (account: string) => encodeURIComponent(secret(account, "ACCOUNT_SID") ?? "");
  const apiOf = ({ account, baseUrl = "https://api.exotel.com" }: ExotelRoute) => {
    const credentials = `${secret(account, "API_KEY") ?? ""}:${secret(account, "API_TOKEN") ?? ""}`;
    return {
      url: `${baseUrl}/v1/Accounts/${sidOf(account)}/Calls`,
      headers: { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
    };
  };
  return {
    async dial({ call: { id, request }, timeoutSeconds, guarded, ...more }, route) {
      const { callbackUrl, reportsAnswer, maxCallMinutes } = more;
      const { url, headers } = apiOf(route);
      const fields = {
        From: request.phone_number,
        CallerId: route.from,
        Url: `http://my.exotel.com/${sidOf(route.account)}/exoml/start_voice/${route.flow}`,
        CallType: "trans",
        CustomField: id,
        ...(route.ringSeconds === undefined ? {} : { TimeOut: String(route.ringSeconds) }),
        ...(maxCallMinutes === undefined ? {} : { TimeLimit: String(maxCallMinutes * 60) }),
        ...callbackFields(callbackUrl, reportsAnswer),
      };
      const answer = await post(guarded(fetch), `${url}/connect.json`, {
        headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams(fields).toString(),
        timeoutSeconds,
      });
      return toOutcome(answer, { callIdIn, exception }, now());
    },

    lookUp({ call, from, until }, route) {
      const sought = { number: call.request.phone_number, ownNumber: route.from, from, until };
      return findCall(sought, apiOf(route), fetch);
    },

    readResult(placed, route) {
      const { url, headers } = apiOf(route);
      const address = `${url}/${encodeURIComponent(placed.providerCallId)}.json`;
      return readRecord(placed, { url: address, headers, record }, fetch);
    },

    listResults: createListReader(fetch, apiOf, list),
  };
});

/**
 * Returns the fields of a call's callbacks. Without `StatusCallbackEvents` Exotel reports only the end.
 *
 * @param reportsAnswer true if Exotel is to report the answer, too
 */
function callbackFields(
  callbackUrl: string | undefined,
  reportsAnswer: boolean | undefined,
): Record<string, string> {
  if (callbackUrl === undefined) return {};
  return {
    StatusCallback: callbackUrl,
    ...(reportsAnswer === true
      ? { "StatusCallbackEvents[0]": "terminal", "StatusCallbackEvents[1]": "answered" }
      : {}),
  };
}

const createdSchema = () => z.object({ Call: z.object({ Sid: idText }) });

function callIdIn(body: unknown): string | undefined {
  return z.built(createdSchema).safeParse(body).data?.Call.Sid;
}

const errorSchema = () => z.object({ RestException: z.object({ Message: z.nullish(z.string()) }) });

/**
 * Returns the outcome of an error if it says more than its status. A number on India's registry of people who want no
 * calls (NDNC) is refused with 403, as is a suspended account
 * (https://developer.exotel.com/docs/references/error-codes). The request's address names only the account, so a 404
 * refuses the account.
 */
function exception(status: number, body: unknown): DialOutcome | undefined {
  const error = z.built(errorSchema).safeParse(body).data?.RestException;
  if (error === undefined) return undefined;
  if (status === 404) return { kind: "account_refused", code: "exotel_account" };
  return status === 403 && /\bNDNC\b/i.test(error.Message ?? "")
    ? { kind: "rejected", code: "exotel_ndnc", blamesNumber: true }
    : undefined;
}

/** A call in Exotel's records. Times have no zone, and the reference names none. */
const callSchema = () =>
  z.object({
    Sid: idText,
    ParentCallSid: optionalText(),
    /** The number that was called first: the callee. */
    From: optionalText(),
    /** The ExoPhone. */
    PhoneNumberSid: optionalText(),
    Direction: optionalText(),
    Status: optionalText(),
    DateCreated: optionalText(),
    /** Seconds. Set up to five minutes after the end. */
    Duration: optionalAmount(),
  });
type ExotelCall = z.infer<ReturnType<typeof callSchema>>;

const recordSchema = () => z.object({ Call: callSchema() });
const nextSchema = () => z.object({ NextPageUri: z.nullish(z.string()) });
/** A page of the list. The reference does not say which field has the cursor. */
const pageSchema = () =>
  z.object({
    Metadata: z.nullish(nextSchema()),
    NextPageUri: z.nullish(z.string()),
    Calls: z.array(callSchema()),
  });

/** Maximum calls of a page. */
const pageCalls = 100;
/** Maximum pages of each period that a look-up reads. */
const pagesMax = 10;

/** Possible offsets of Exotel's times from UTC: India's and Singapore's, where its servers are, and none. */
const zoneHours = [5.5, 8, 0];

/** Formats a time as the reference does. */
function timeText(time: number): string {
  return new Date(time).toISOString().slice(0, 19).replace("T", " ");
}

/** Reads a page of the list. `next` is the cursor of the next one. */
function readPage(answer: unknown): { rows: ExotelCall[]; next?: string | undefined } {
  const { Metadata, NextPageUri, Calls } = z.built(pageSchema).parse(answer);
  const [, query = ""] = (Metadata?.NextPageUri ?? NextPageUri ?? "").split("?");
  return { rows: Calls, next: new URLSearchParams(query).get("After") ?? undefined };
}

/** Returns the end of a page's address. */
function pathOf(created: string, more: Record<string, string>, after: string | undefined): string {
  const filters = { DateCreated: created, Direction: ours, ...more };
  const cursor = after === undefined ? {} : { After: after };
  return `.json?${new URLSearchParams({ ...filters, ...cursor }).toString()}`;
}

/** Direction of a call that was placed by the API. */
const ours = "outbound-api";

/** A call that is looked for. Times are in milliseconds since the epoch. */
interface Sought {
  number: string;
  ownNumber: string;
  from: number;
  until: number;
}

/** Lists the calls to a number in a period that have ended, in each zone that their times may have. */
async function findCall(
  { number, ownNumber, from, until }: Sought,
  { url, headers }: { url: string; headers: Record<string, string> },
  send: Send,
): Promise<FoundCall | undefined> {
  const found = new Set<string>();
  for (const hours of zoneHours) {
    const start = timeText(from - 1000 + hours * hourMs);
    const end = timeText(until + 1000 + hours * hourMs);
    // The filter `From` would put the callee's number into the address.
    const created = `gte:${start};lte:${end}`;
    const paging = { PageSize: String(pageCalls), SortBy: "DateCreated:asc" };
    let after: string | undefined;
    for (let pages = 0; pages === 0 || after !== undefined; pages++) {
      if (pages === pagesMax) throw new Error("the list of calls is too long");
      const page = readPage(await ask(send, url + pathOf(created, paging, after), { headers }));
      for (const call of page.rows) {
        if (!isSameNumber(call.From, number) || !isOwn(call, ownNumber)) continue;
        // A row without a time or a direction may be any call, also ours.
        if (!call.DateCreated || !call.Direction) return undefined;
        const isThen = call.DateCreated >= start && call.DateCreated <= end;
        if (isThen && call.Direction === ours) found.add(call.Sid);
      }
      after = page.next;
      // A full page without a cursor may be incomplete.
      if (after === undefined && page.rows.length >= pageCalls) return undefined;
    }
  }
  return { by: "number", providerCallIds: [...found] };
}

/** True unless the call is a second leg, or from another ExoPhone. */
function isOwn({ ParentCallSid, PhoneNumberSid }: ExotelCall, ownNumber: string): boolean {
  return !ParentCallSid && (!PhoneNumberSid || isSameNumber(PhoneNumberSid, ownNumber));
}

/** Compares two numbers, either of which may lack its country code and may begin with the trunk prefix 0. */
function isSameNumber(listed: string | null | undefined, number: string): boolean {
  const one = nationalDigits(listed ?? "");
  const other = nationalDigits(number);
  return Math.min(one.length, other.length) >= 7 && (other.endsWith(one) || one.endsWith(other));
}

function nationalDigits(number: string): string {
  return number.replaceAll(/\D/g, "").replace(/^0+/, "");
}

/** Values of `Status` (https://developer.exotel.com/docs/references/error-codes). */
const words = /* @__PURE__ */ createWords(
  ["live", "queued ringing in-progress"],
  ["completed", "completed"],
  ["busy", "busy"],
  ["no_answer", "no-answer"],
  ["failed", "failed canceled"],
);

/** Exotel says `in-progress` also while the phone rings. Times are left out, as their zone is unknown. */
function resultOfCall({ Status, Duration }: ExotelCall): ReadResult {
  return resultOf(words, { word: Status, seconds: Duration });
}

const list: ListType<ExotelCall> = {
  rowsMax: pageCalls,
  ask(from, limit, next) {
    // All possible offsets are zero or ahead of UTC, so no later call is missed. The newest calls come first.
    return { path: pathOf(`gte:${timeText(from)}`, { PageSize: String(limit) }, next) };
  },
  read: readPage,
  idOf: ({ Sid }) => Sid,
  resultOf: resultOfCall,
};

const record: RecordType<z.infer<ReturnType<typeof recordSchema>>> = {
  schema: recordSchema,
  resultOf: ({ Call }) => resultOfCall(Call),
};
