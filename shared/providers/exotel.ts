/**
 * Exotel: `POST /v1/Accounts/{sid}/Calls/connect.json`, form-encoded, Basic authentication
 * (https://developer.exotel.com/docs/voice-v1/api-reference/connect-to-flow). It calls `From`, which is the callee, and
 * connects whoever answers with a call flow. Secrets: `EXOTEL_ACCOUNT_SID`, `EXOTEL_API_KEY` and `EXOTEL_API_TOKEN`.
 *
 * ```
 * From=+919876543210&CallerId=08047091234&Url=http://my.exotel.com/{sid}/exoml/start_voice/926&CallType=trans
 *   &CustomField=call_…
 * ```
 *
 * `CustomField` has at most 128 characters, which the call's id takes: a context cannot be carried. The flow gives it to
 * the user's server.
 *
 * 200 with `Call.Sid`: placed. Exotel answers once the operator has the call, and tries other operators until then, so
 * an answer can take long. It says that a 500 or 504 was never placed; they stay unknown, as a gateway's answer proves
 * nothing. Errors are `{RestException: {Status, Message, Code}}`: see `exception`. The message may quote the number.
 *
 * No list repeats `CustomField`, so a look-up finds calls by number and time, of those that have ended: the list leaves
 * out the others (https://developer.exotel.com/api/call-details-bulk).
 */
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText } from "./define-provider.ts";
import { findCall, list, record } from "./exotel-records.ts";
import type { DialOutcome } from "./provider.ts";
import { post, toOutcome } from "./provider-http.ts";
import { createListReader, readRecord } from "./provider-records.ts";

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
export type ExotelRoute = z.infer<typeof exotelRoutes.routeSchema>;

export const exotel = /* @__PURE__ */ defineProvider(exotelRoutes, ({ secret, fetch, now }) => {
  const sidOf = (provider: string) => encodeURIComponent(secret(provider, "ACCOUNT_SID") ?? "");
  const apiOf = ({ provider, baseUrl = "https://api.exotel.com" }: ExotelRoute) => {
    const credentials = `${secret(provider, "API_KEY") ?? ""}:${secret(provider, "API_TOKEN") ?? ""}`;
    return {
      url: `${baseUrl}/v1/Accounts/${sidOf(provider)}/Calls`,
      headers: { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
    };
  };
  return {
    async dial({ call: { id, request }, timeoutSeconds, ring, ...more }, route) {
      const { callbackUrl, tellsAnswer, maxCallMinutes } = more;
      const { url, headers } = apiOf(route);
      const fields = {
        From: request.phone_number,
        CallerId: route.from,
        Url: `http://my.exotel.com/${sidOf(route.provider)}/exoml/start_voice/${route.flow}`,
        CallType: "trans",
        CustomField: id,
        ...(route.ringSeconds === undefined ? {} : { TimeOut: String(route.ringSeconds) }),
        ...(maxCallMinutes === undefined ? {} : { TimeLimit: String(maxCallMinutes * 60) }),
        ...callbackFields(callbackUrl, tellsAnswer),
      };
      const answer = await post(ring(fetch), `${url}/connect.json`, {
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
 * Returns the fields of a call's callbacks. Without `StatusCallbackEvents` Exotel tells of the end alone.
 *
 * @param tellsAnswer true if Exotel is to tell of the answer, too
 */
function callbackFields(
  callbackUrl: string | undefined,
  tellsAnswer: boolean | undefined,
): Record<string, string> {
  if (callbackUrl === undefined) return {};
  return {
    StatusCallback: callbackUrl,
    ...(tellsAnswer === true
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
 * calls (NDNC) is refused with 403, as is a suspended account (https://developer.exotel.com/docs/references/error-codes).
 * The address of a 404 names nothing but the account.
 */
function exception(status: number, body: unknown): DialOutcome | undefined {
  const error = z.built(errorSchema).safeParse(body).data?.RestException;
  if (error === undefined) return undefined;
  if (status === 404) return { kind: "account_refused", code: "exotel_account" };
  return status === 403 && /\bNDNC\b/i.test(error.Message ?? "")
    ? { kind: "rejected", code: "exotel_ndnc", blamesNumber: true }
    : undefined;
}
