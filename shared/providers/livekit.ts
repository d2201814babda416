/**
 * LiveKit, by three requests (https://docs.livekit.io/sip/outbound-calls): the agent is dispatched to a room, the
 * adapter waits until it has come, and the callee is called into the room. The room is named by the call's id and
 * attempt, so that a later attempt never meets the agent of one that was not placed. Secrets: `LIVEKIT_API_KEY` and
 * `LIVEKIT_API_SECRET`, which sign a token for each request.
 *
 * ```json
 * POST /twirp/livekit.AgentDispatchService/CreateDispatch
 * {"agent_name": "…", "room": "call_…-1", "metadata": "{\"call_id\":\"call_…\",\"agent_id\":\"agent_sales\",\"context\":{}}"}
 * POST /twirp/livekit.AgentDispatchService/ListDispatch
 * {"room": "call_…-1"}
 * POST /twirp/livekit.SIP/CreateSIPParticipant
 * {"sip_trunk_id": "ST_…", "sip_call_to": "+12025550123", "room_name": "call_…-1", "participant_identity": "callee",
 *  "participant_attributes": {"call_id": "call_…"}, "hide_phone_number": true}
 * ```
 *
 * A dispatch succeeds even if no worker has the agent's name, and the callee would then hear silence. So the callee
 * is called only once the dispatch has a job (livekit/protocol, livekit_agent_dispatch.proto) or an agent is in the
 * room. Otherwise nobody is called, and the route's agent is at fault.
 *
 * The third request may follow the first by seconds, so controls, hours and expiry are checked again before it.
 *
 * An agent on a small plan shuts down between calls and joins after 10 to 20 s, so the adapter waits up to
 * `agentWaitSeconds` for it, and at most two thirds of `timeoutSeconds`. Of the rest the dispatch may take a third,
 * the call two thirds. The token of the dispatch grants `roomCreate`, with which servers that create no rooms
 * automatically create this one (livekit/livekit d12367500). 200 with `sip_call_id`: placed. An agent dispatched for
 * a call that was then not placed waits in an empty room, and should leave if nobody joins. LiveKit accepts 64,000
 * bytes of metadata, more than a context can fill.
 *
 * `X-Livekit-Request-Id` names the request to LiveKit, which drops a second one of the same name (livekit/livekit,
 * pkg/service/requestid.go). It guards against proxies that repeat requests. Nothing here relies on it, as no version
 * of the server promises how long it remembers names.
 *
 * Errors are Twirp's, `{code, msg, meta}`. Their code counts: `meta.sip_status_code` means that the callee's
 * side has answered, so a 429 with 486 is a busy phone that has rung and no limit of the account
 * (livekit/protocol, sip.go). `wait_until_answered` stays false, so such answers are rare.
 *
 * A look-up reads the participants of the room, which finds a call only while it lasts.
 */
import type { Call } from "../calls/call-request.ts";
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText } from "./define-provider.ts";
import { findAgentAbsence, roomSchema, splitTime } from "./livekit-agent.ts";
import { type Answer, ask, toOutcome, postJson, createTable } from "./provider-http.ts";
import { readLiveKitCallback } from "./livekit-callback.ts";
import type { DialOutcome, FoundCall, ProviderOptions } from "./provider.ts";
import { toSipOutcome } from "./sip-status.ts";

/** Routes of LiveKit, as a dial plan has them. */
export const livekitRoutes = defineRoute(
  "livekit",
  (fields) =>
    z.strictObject({
      ...fields,
      /** The project's own URL. */
      baseUrl: z.pipe(z.string("is required: set the account's baseUrl in providers"), httpsUrl),
      /** Name under which the agent is registered. */
      agent: idText,
      /** Id of the outbound SIP trunk. */
      trunk: idText,
      /** Maximum wait for the agent, as a part of the account's `timeoutSeconds`. */
      agentWaitSeconds: z._default(z.int().check(z.minimum(5), z.maximum(60)), 20),
    }),
  {
    callsPerSecond: 1,
    timeoutSeconds: 45,
    timeProblem({ agentWaitSeconds }, timeoutSeconds) {
      const secondsMax = Math.floor((timeoutSeconds * 2) / 3);
      return agentWaitSeconds > secondsMax
        ? `agentWaitSeconds (${agentWaitSeconds}) must be at most two thirds of timeoutSeconds: ${secondsMax}`
        : undefined;
    },
    hasLateAgents: true,
    callbackHeaders: ["authorization"],
    secrets: ["API_KEY", "API_SECRET"],
  },
);
type LiveKitRoute = z.infer<typeof livekitRoutes.routeSchema>;

export const livekit = /* @__PURE__ */ defineProvider(livekitRoutes, ({ secret, fetch, now }) => {
  const keysOf = (account: string) => ({
    apiKey: secret(account, "API_KEY") ?? "",
    apiSecret: new TextEncoder().encode(secret(account, "API_SECRET") ?? ""),
  });
  const headersFor = async (account: string, grants: Record<string, object>) => ({
    authorization: `Bearer ${await signToken(grants, keysOf(account), now())}`,
  });
  return {
    async dial({ call, attempt, timeoutSeconds, maxCallMinutes, guarded }, route) {
      const { account, baseUrl, trunk } = route;
      const { id, request } = call;
      const room = roomOf(id, attempt);
      const seconds = splitTime(timeoutSeconds, route.agentWaitSeconds);
      const absent = await bringAgent(call, { room, route, headersFor, seconds }, { fetch, now });
      if (absent !== undefined) return absent;
      const sip = await headersFor(account, { sip: { call: true } });
      const answer = await postJson(
        guarded(fetch, seconds.call),
        `${baseUrl}/twirp/livekit.SIP/CreateSIPParticipant`,
        {
          headers: { ...sip, [requestIdHeader]: `${room}-call` },
          json: {
            sip_trunk_id: trunk,
            sip_call_to: request.phone_number,
            room_name: room,
            participant_identity: calleeIdentity,
            participant_attributes: { call_id: id },
            hide_phone_number: true,
            ...(maxCallMinutes === undefined
              ? {}
              : { max_call_duration: `${maxCallMinutes * 60}s` }),
          },
          timeoutSeconds: seconds.call,
        },
      );
      return toOutcome(answer, { callIdIn, exception }, now());
    },

    readCallback: (signed, { account }) =>
      readLiveKitCallback(signed, keysOf(account), calleeIdentity),

    async lookUp({ call, attempt }, { account, baseUrl }): Promise<FoundCall | undefined> {
      const room = roomOf(call.id, attempt);
      const headers = await headersFor(account, { video: { roomAdmin: true, room } });
      const url = `${baseUrl}/twirp/livekit.RoomService/ListParticipants`;
      const answer = await ask(fetch, url, { headers, json: { room } });
      if (answer === undefined) return undefined; // the room has ended, or never existed
      const { participants } = z.built(roomSchema).parse(answer);
      const callee = participants.find(({ identity }) => identity === calleeIdentity);
      if (callee === undefined) return undefined;
      return { by: "id", providerCallId: callee.attributes?.["sip.callID"] ?? callee.sid };
    },
  };
});

/** Identity of the callee in the room. */
const calleeIdentity = "callee";

/** Validity of a token, which is made for one request. */
const tokenSeconds = 600;

/** Signs a token that grants what one request needs. `now` is in milliseconds since the epoch. */
async function signToken(
  grants: Record<string, object>,
  { apiKey, apiSecret }: { apiKey: string; apiSecret: Uint8Array },
  now: number,
): Promise<string> {
  const { SignJWT } = await import("./jwt.ts");
  const seconds = Math.floor(now / 1000);
  return new SignJWT({ ...grants })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setIssuer(apiKey)
    .setNotBefore(seconds - 10)
    .setExpirationTime(seconds + tokenSeconds)
    .sign(apiSecret);
}

/** The room to which an agent is dispatched, and the time limits of dispatch and arrival. */
interface Dispatch {
  room: string;
  route: LiveKitRoute;
  headersFor(account: string, grants: Record<string, object>): Promise<Record<string, string>>;
  seconds: { dispatch: number; agent: number };
}

/** Dispatches the agent to the room and waits for it. Returns undefined if an agent came, otherwise the outcome. */
async function bringAgent(
  call: Call,
  { room, route, headersFor, seconds }: Dispatch,
  { fetch, now }: Pick<ProviderOptions, "fetch" | "now">,
): Promise<DialOutcome | undefined> {
  const { account, baseUrl, agent } = route;
  const creating = { video: { roomAdmin: true, roomCreate: true, room } };
  const url = `${baseUrl}/twirp/livekit.AgentDispatchService/CreateDispatch`;
  const dispatched = await postJson(fetch, url, {
    headers: { ...(await headersFor(account, creating)), [requestIdHeader]: `${room}-dispatch` },
    json: { agent_name: agent, room, metadata: metadataOf(call) },
    timeoutSeconds: seconds.dispatch,
  });
  const refused =
    "kind" in dispatched ? notDispatched(dispatched) : refusalOfDispatch(dispatched, now());
  if (refused !== undefined) return refused;
  const headers = await headersFor(account, { video: { roomAdmin: true, room } });
  return findAgentAbsence(room, { baseUrl, headers, timeoutSeconds: seconds.agent }, fetch);
}

/** Returns the metadata that the agent gets. */
function metadataOf({ id, request: { agent_id, context = {} } }: Call): string {
  return JSON.stringify({ call_id: id, agent_id, context });
}

const requestIdHeader = "x-livekit-request-id";

function roomOf(callId: string, attempt: number): string {
  return `${callId}-${attempt}`;
}

const dispatchSchema = () => z.object({ id: idText });

function dispatchIdIn(body: unknown): string | undefined {
  return z.built(dispatchSchema).safeParse(body).data?.id;
}

/**
 * Returns the outcome of a failed dispatch; undefined if it succeeded. A server that does not know the request, or
 * redirects it, is not LiveKit or does not support dispatches: the account's `baseUrl` is wrong.
 */
function refusalOfDispatch(answer: Answer, now: number): DialOutcome | undefined {
  const outcome = toOutcome(answer, { callIdIn: dispatchIdIn, exception }, now);
  const { status } = answer;
  if (outcome.kind === "placed") {
    return status < 300 ? undefined : { kind: "not_placed", code: "dispatch_sip" };
  }
  const isElsewhere = status === 404 || status === 501 || (status >= 300 && status < 400);
  return isElsewhere
    ? { kind: "route_refused", code: `dispatch_${outcome.code}` }
    : notDispatched(outcome);
}

/** The outcome of a failed first request: surely nobody was called, as a later request places the call. */
function notDispatched(outcome: DialOutcome): DialOutcome {
  if (outcome.kind !== "unknown") return outcome;
  return { kind: "not_placed", code: `dispatch_${outcome.code}` };
}

/** Answers use either of the two spellings that protocol buffers have in JSON. */
const createdSchema = () =>
  z.union([z.object({ sip_call_id: idText }), z.object({ sipCallId: idText })]);

function callIdIn(body: unknown): string | undefined {
  const created = z.built(createdSchema).safeParse(body).data;
  if (created === undefined) return undefined;
  return "sipCallId" in created ? created.sipCallId : created.sip_call_id;
}

const errorSchema = () =>
  z.object({
    code: z.string().check(z.regex(/^[a-z_]{1,40}$/)),
    msg: z._default(z.string(), ""),
    meta: z.optional(z.object({ sip_status_code: z.optional(z.coerce.string()) })),
  });

/** Returns the outcome of an error if it says more than its status. */
function exception(status: number, body: unknown): DialOutcome | undefined {
  const error = status < 400 ? undefined : z.built(errorSchema).safeParse(body).data;
  if (error === undefined) return undefined;
  const sipStatus = error.meta?.sip_status_code;
  if (sipStatus !== undefined) {
    const outcome = toSipOutcome(sipStatus);
    return outcome.kind === "placed" || status <= 404 ? outcome : { ...outcome, kind: "unknown" };
  }
  if (/\bsip status\b/i.test(error.msg)) return { kind: "unknown", code: "sip" };
  // LiveKit checks the trunk's numbers before it sends anything to the carrier (livekit/protocol, rpc/sip.go).
  if (error.code === "failed_precondition" && status === 412 && noNumbers.test(error.msg)) {
    return { kind: "route_refused", code: "livekit_no_numbers" };
  }
  const kind = refusals.get(`${error.code}:${status}`) ?? "unknown";
  return { kind, code: `livekit_${error.code}` };
}

/** Servers since February 2025 put `twirp error unknown: ` before the text (livekit/protocol, xtwirp/errors.go). */
const noNumbers = /\bno numbers on outbound trunk\b/i;

/**
 * Twirp's codes by which a request is refused before it acts, each with its HTTP status (twitchtv/twirp, errors.go).
 * An unknown trunk is `not_found`. A code under another status does not come from LiveKit. A refusing SIP status
 * likewise counts only under 400 to 404, which sip.go gives it.
 */
const refusals = /* @__PURE__ */ createTable<
  "not_placed" | "account_refused" | "rejected" | "route_refused"
>(
  ["not_placed", "resource_exhausted:429"],
  ["account_refused", "unauthenticated:401 permission_denied:403"],
  ["rejected", "invalid_argument:400 malformed:400 out_of_range:400"],
  ["route_refused", "not_found:404 bad_route:404"],
);
