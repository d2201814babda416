/**
 * Vonage: `POST /v1/calls` (https://developer.vonage.com/en/api/voice), with a token for each request: an RS256 JWT of
 * the application (@vonage/jwt). Secrets: `VONAGE_APPLICATION_ID` and `VONAGE_PRIVATE_KEY`, the key's file in base64.
 *
 * ```json
 * {"to": [{"type": "phone", "number": "12025550123"}], "from": {"type": "phone", "number": "12025550100"},
 *  "ncco": [{"action": "connect", "endpoint": [{"type": "websocket", "uri": "wss://…",
 *    "content-type": "audio/l16;rate=16000",
 *    "headers": {"first_name": "Ada", "call_id": "call_…", "agent_id": "agent_sales"}}]}]}
 * ```
 *
 * Numbers have no `+`. With `answerUrl`, the request has `answer_url` instead of `ncco`, with `call_id` in its query: it
 * cannot carry a context. A WebSocket's `headers` have at most 512 bytes, and come beside `event` and `content-type` in
 * its first message (https://developer.vonage.com/en/voice/voice-api/guides/websockets).
 *
 * 201 with `uuid`: placed. Errors are problem details (https://developer.vonage.com/en/api-errors) or an older form,
 * `{type, error_title}`: see `exception`. More than three calls a second are answered 429.
 *
 * No readable field of a call holds our id, so a look-up finds calls by number and time. Only completed calls have a
 * `start_time`, so the list's filters select the period. A call exists in one region, and a request that reaches
 * another region does not find it (…/guides/troubleshooting), so finding nothing proves nothing.
 */
import { getOrMake } from "../lib/get-or-make.ts";
import { httpsUrl } from "../lib/https-url.ts";
import { randomId } from "../lib/random.ts";
import * as z from "../lib/zod.ts";
import { answerUrl, hasOneTarget, streamUrl, withCallId } from "./answer-target.ts";
import { defineProvider, defineRoute, phoneNumber } from "./define-provider.ts";
import type { DialOutcome } from "./provider.ts";
import { createTable, postJson, toOutcome } from "./provider-http.ts";
import { createListReader, createRecordReader } from "./provider-records.ts";
import { findCall, list, record } from "./vonage-records.ts";
import type { CallRequest } from "../calls/call-request.ts";

/** Routes of Vonage, as a dial plan has them. */
export const vonageRoutes = defineRoute(
  "vonage",
  (fields) =>
    z
      .strictObject({
        ...fields,
        baseUrl: z.optional(httpsUrl),
        /** The calling number, rented from Vonage. */
        from: phoneNumber,
        /** WebSocket of the user that takes the call's audio. */
        stream: z.optional(streamUrl()),
        /** Samples per second of that audio. Default: 16000. */
        sampleRate: z.optional(z.enum(["8000", "16000", "24000"])),
        /** URL from which Vonage fetches an NCCO once the call is answered, instead of a stream. */
        answerUrl: z.optional(answerUrl()),
        /** `ringing_timer`: longest time for which the phone rings. */
        ringSeconds: z.optional(z.int().check(z.minimum(1), z.maximum(120))),
        /** True to have Vonage send a call's events to this service instead of to the application's event URL. */
        callbacks: z.optional(z.boolean()),
      })
      .check(hasOneTarget()),
  {
    callsPerSecond: 1,
    hasCallerId: true,
    secrets: ["APPLICATION_ID", "PRIVATE_KEY"],
    contextProblem: (request, { stream }) => contextProblem(request, stream),
  },
);
export type VonageRoute = z.infer<typeof vonageRoutes.routeSchema>;

/** Maximum `length_timer` of Vonage's reference. */
const callSecondsMax = 7_200;

export const vonage = /* @__PURE__ */ defineProvider(vonageRoutes, ({ secret, fetch, now }) => {
  const keys = new Map<string, Promise<CryptoKey>>();
  const keyOf = (account: string) =>
    getOrMake(keys, account, () => readKey(secret(account, "PRIVATE_KEY") ?? ""));
  const apiOf = async ({ account, baseUrl = "https://api.nexmo.com" }: VonageRoute) => {
    const applicationId = secret(account, "APPLICATION_ID") ?? "";
    const token = await signToken(applicationId, await keyOf(account), now());
    return { url: `${baseUrl}/v1/calls`, headers: { authorization: `Bearer ${token}` } };
  };
  return {
    async dial({ call: { id, request }, timeoutSeconds, guarded, ...more }, route) {
      const { callbackUrl, maxCallMinutes } = more;
      const api = await apiOf(route).catch(() => undefined);
      if (api === undefined) return { kind: "account_refused", code: "vonage_private_key" };
      const { ringSeconds, callbacks } = route;
      const json = {
        to: [{ type: "phone", number: digitsOf(request.phone_number) }],
        from: { type: "phone", number: digitsOf(route.from) },
        ...instructions(id, request, route),
        ...(ringSeconds === undefined ? {} : { ringing_timer: ringSeconds }),
        ...(maxCallMinutes === undefined
          ? {}
          : { length_timer: Math.min(maxCallMinutes * 60, callSecondsMax) }),
        ...(callbacks === true && callbackUrl !== undefined
          ? { event_url: [callbackUrl], event_method: "POST" }
          : {}),
      };
      const { url, headers } = api;
      const answer = await postJson(guarded(fetch), url, { headers, json, timeoutSeconds });
      return toOutcome(answer, { callIdIn, exception }, now());
    },

    async lookUp({ call, from, until }, route) {
      const number = digitsOf(call.request.phone_number);
      const sought = { number, ownNumber: digitsOf(route.from), from, until };
      return findCall(sought, await apiOf(route), fetch);
    },

    async readResult(placed, route) {
      const api = await apiOf(route);
      return createRecordReader(fetch, () => api, { path: "/", record })(placed, route);
    },

    async listResults(from, route) {
      const api = await apiOf(route);
      return createListReader(fetch, () => api, list)(from, route);
    },
  };
});

/** Returns an E.164 number in Vonage's form. */
function digitsOf(number: string): string {
  return number.slice(1);
}

/**
 * Reads an application's private key: its PEM file in base64, as a secret is one line.
 *
 * @throws if it is no PKCS #8 key
 */
async function readKey(secret: string): Promise<CryptoKey> {
  const { importPKCS8 } = await import("./jwt.ts");
  return importPKCS8(Buffer.from(secret, "base64").toString(), "RS256");
}

/** Validity of a token, which is made for one request. */
const tokenSeconds = 600;

/** Signs a token of an application. `now` is in milliseconds since the epoch. */
async function signToken(applicationId: string, key: CryptoKey, now: number): Promise<string> {
  const { SignJWT } = await import("./jwt.ts");
  const seconds = Math.floor(now / 1000);
  return new SignJWT({ application_id: applicationId })
    .setProtectedHeader({ alg: "RS256", typ: "JWT" })
    .setIssuedAt(seconds - 10) // our clock may run ahead of Vonage's
    .setExpirationTime(seconds + tokenSeconds)
    .setJti(randomId())
    .sign(key);
}

/** Returns the instructions for an answered call: an NCCO, or the URL that serves it. */
function instructions(id: string, request: CallRequest, route: VonageRoute): object {
  if (route.stream === undefined) return { answer_url: [withCallId(route.answerUrl ?? "", id)] };
  const endpoint = {
    type: "websocket",
    uri: route.stream,
    "content-type": `audio/l16;rate=${route.sampleRate ?? "16000"}`,
    headers: headersOf(id, request),
  };
  return { ncco: [{ action: "connect", endpoint: [endpoint] }] };
}

/** Returns the headers of the WebSocket, which its first message contains. */
function headersOf(id: string, { agent_id, context = {} }: CallRequest): Record<string, string> {
  return { ...context, call_id: id, agent_id };
}

/** Maximum length of `headers`. */
const headersBytesMax = 512;

/** Keys of the first message beside the context's: ours and Vonage's. */
const ownKeys = ["call_id", "agent_id", "event", "content-type"];

/** Describes why a WebSocket's headers could not carry a call's context whole, or undefined. */
function contextProblem(request: CallRequest, stream: string | undefined): string | undefined {
  const names = Object.keys(request.context ?? {});
  if (names.length === 0) return undefined;
  if (stream === undefined) return "must be empty: this agent's answerUrl cannot carry it";
  const own = ownKeys.find((key) => names.includes(key));
  if (own !== undefined) return `must not have the key ${own}, which Vonage's message has already`;
  const headers = headersOf(`call_${"0".repeat(32)}`, request);
  const bytes = Buffer.byteLength(JSON.stringify(headers));
  return bytes > headersBytesMax
    ? `is too large for Vonage: ${bytes} bytes with the call's own, at most ${headersBytesMax}`
    : undefined;
}

const createdSchema = () => z.object({ uuid: z.string() });

function callIdIn(body: unknown): string | undefined {
  return z.built(createdSchema).safeParse(body).data?.uuid;
}

const errorSchema = () =>
  z.object({
    /** URL of a page whose fragment names the error. Older errors have a word or a number. */
    type: z.catch(z.nullish(z.string()), null),
    invalid_parameters: z.catch(z.nullish(z.array(z.object({ name: z.string() }))), null),
  });

/** Returns the outcome of an error if it says more than its status. */
function exception(status: number, body: unknown): DialOutcome | undefined {
  const error = z.built(errorSchema).safeParse(body).data;
  if (error === undefined) return undefined;
  if (status === 400 || status === 422) return outcomeOfParameters(error.invalid_parameters ?? []);
  const word = error.type?.split("#")[1] ?? "";
  return status === 403 && accountTexts.has(word)
    ? { kind: "account_refused", code: `vonage_${word.replaceAll("-", "_")}` }
    : undefined;
}

/**
 * Fragments of `type` that refuse the account (https://developer.vonage.com/en/api-errors). `forbidden` is not
 * listed, as it may concern a destination.
 */
const accountTexts = /* @__PURE__ */ createTable([
  true,
  "low-balance out-of-credit unprovisioned account-suspended",
]);

/**
 * Subject at fault for each invalid parameter. `ncco` is not listed, as the context may be at fault: the status
 * decides.
 */
const faults = /* @__PURE__ */ createTable<"rejected" | "route_refused" | "account_refused">(
  ["rejected", "to"],
  ["route_refused", "from answer_url answer_method ringing_timer"],
  // The URL of callbacks, which this service sends with every call.
  ["account_refused", "event_url event_method"],
);

/** Returns the outcome by the first parameter that the table has. */
function outcomeOfParameters(parameters: { name: string }[]): DialOutcome | undefined {
  for (const { name } of parameters) {
    const word = /^[a-z_]+/.exec(name)?.[0] ?? "";
    const kind = faults.get(word);
    const code = `vonage_${word}`;
    if (kind === "rejected") return { kind, code, blamesNumber: true };
    if (kind !== undefined) return { kind, code };
  }
  return undefined;
}
