import { SignJWT } from "jose";
import * as z from "../platform/zod.ts";
import type { DialOutcome, FoundCall, ProviderAdapter } from "./dialing-provider.ts";
import { type Answer, ask, outcomeOfJson, postJson } from "./post.ts";
import { exception } from "./livekit-errors.ts";
import { toldByLiveKit } from "./results/livekit.ts";
import type { LiveKitRoute } from "./routes/livekit.ts";
import type { Send } from "../platform/send.ts";

/** Identity of the callee in the room. */
const calleeIdentity = "callee";
/** Validity of a token, which is made for one request. */
const tokenSeconds = 600;

/** Waits before each look for the agent, in milliseconds. A worker that is there takes a job within some ms. */
const agentWaitsMs = [0, 250, 500, 750, 1000, 1500];
/** Maximum time for the look at the agent. */
const agentSecondsMax = 5;

/**
 * LiveKit, by three requests (https://docs.livekit.io/sip/outbound-calls): the agent is dispatched to a room,
 * seen to have come, and the callee is called into it. The room is named by the call's id and attempt, so that
 * a later attempt never meets the agent of one that was not placed. Secrets: `LIVEKIT_API_KEY` and
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
 * The dispatch succeeds although no worker has the agent's name, and the callee would then hear silence. So
 * the callee is called only once the dispatch has a job (livekit/protocol, livekit_agent_dispatch.proto) or
 * an agent is in the room. Otherwise nobody was called, and the route's agent is at fault.
 *
 * The dispatch may take a quarter of `timeoutSeconds`, the agent a quarter and at most 5 s, the call half. 200
 * with `sip_call_id`: placed. An agent dispatched for a call that was then not placed waits in an empty room,
 * and should leave if nobody joins. LiveKit accepts 64,000 bytes of metadata, more than a context can fill.
 *
 * `X-Livekit-Request-Id` names the request to LiveKit, which drops a second one of the same name
 * (livekit/livekit, pkg/service/requestid.go). It guards against what repeats requests on the way. Nothing here
 * relies on it: no version of the server promises how long it remembers.
 *
 * Errors are Twirp's, `{code, msg, meta}`. Their code counts: `meta.sip_status_code` means that the callee's
 * side has answered, so a 429 with 486 is a busy phone that has rung and no limit of the account
 * (livekit/protocol, sip.go). `wait_until_answered` stays false, so such answers are rare.
 *
 * A look-up reads the participants of the room, which finds a call only while it lasts.
 */
export const livekit: ProviderAdapter<LiveKitRoute> = {
  create({ secret, fetch, now }) {
    const keysOf = (provider: string) => ({
      apiKey: secret(provider, "API_KEY") ?? "",
      apiSecret: new TextEncoder().encode(secret(provider, "API_SECRET") ?? ""),
    });
    const headersFor = async (provider: string, grants: Record<string, object>) => {
      const { apiKey, apiSecret } = keysOf(provider);
      const seconds = Math.floor(now() / 1000);
      const token = await new SignJWT({ ...grants })
        .setProtectedHeader({ alg: "HS256", typ: "JWT" })
        .setIssuer(apiKey)
        .setNotBefore(seconds - 10)
        .setExpirationTime(seconds + tokenSeconds)
        .sign(apiSecret);
      return { authorization: `Bearer ${token}` };
    };
    return {
      async dial({ call: { id, request }, attempt, timeoutSeconds }, route) {
        const { provider, baseUrl, agent, trunk } = route;
        const { phone_number, agent_id, context = {} } = request;
        const room = roomOf(id, attempt);
        const admin = await headersFor(provider, { video: { roomAdmin: true, room } });
        const dispatched = await postJson(
          fetch,
          `${baseUrl}/twirp/livekit.AgentDispatchService/CreateDispatch`,
          {
            headers: { ...admin, [requestIdHeader]: `${room}-dispatch` },
            json: {
              agent_name: agent,
              room,
              metadata: JSON.stringify({ call_id: id, agent_id, context }),
            },
          },
          timeoutSeconds / 4,
        );
        const refused =
          "kind" in dispatched ? notDispatched(dispatched) : refusalOfDispatch(dispatched, now());
        if (refused !== undefined) return refused;
        const absent = await agentAbsent(fetch, baseUrl, admin, room, timeoutSeconds / 4);
        if (absent !== undefined) return absent;
        const sip = await headersFor(provider, { sip: { call: true } });
        const answer = await postJson(
          fetch,
          `${baseUrl}/twirp/livekit.SIP/CreateSIPParticipant`,
          {
            headers: { ...sip, [requestIdHeader]: `${room}-call` },
            json: {
              sip_trunk_id: trunk,
              sip_call_to: phone_number,
              room_name: room,
              participant_identity: calleeIdentity,
              participant_attributes: { call_id: id },
              hide_phone_number: true,
            },
          },
          timeoutSeconds / 2,
        );
        return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn, exception);
      },

      readCallback: (signed, { provider }) =>
        toldByLiveKit(signed, keysOf(provider), calleeIdentity),

      async lookUp({ call, attempt }, { provider, baseUrl }): Promise<FoundCall | undefined> {
        const room = roomOf(call.id, attempt);
        const headers = await headersFor(provider, { video: { roomAdmin: true, room } });
        const url = `${baseUrl}/twirp/livekit.RoomService/ListParticipants`;
        const answer = await ask(fetch, url, { headers, json: { room } });
        if (answer === undefined) return undefined; // the room has ended, or never existed
        const { participants } = roomSchema.parse(answer);
        const callee = participants.find(({ identity }) => identity === calleeIdentity);
        if (callee === undefined) return undefined;
        return { by: "id", providerCallId: callee.attributes?.["sip.callID"] ?? callee.sid };
      },
    };
  },
};

function roomOf(callId: string, attempt: number): string {
  return `${callId}-${attempt}`;
}

const requestIdHeader = "x-livekit-request-id";

const id = z.string().check(z.minLength(1), z.maxLength(200));
const dispatchSchema = z.object({ id });
/** Answers use either of the two spellings that protocol buffers have in JSON. */
const createdSchema = z.union([z.object({ sip_call_id: id }), z.object({ sipCallId: id })]);
const attributesSchema = z.record(z.string(), z.string());
const roomSchema = z.object({
  participants: z._default(
    z.array(
      z.object({
        sid: id,
        identity: z.string(),
        kind: z.optional(z.union([z.string(), z.number()])),
        attributes: z.optional(attributesSchema),
      }),
    ),
    [],
  ),
});
const dispatchesSchema = z.array(
  z.object({
    state: z.nullish(
      z.object({
        jobs: z._default(
          z.array(
            z.object({
              state: z.nullish(z.object({ status: z.optional(z.union([z.string(), z.number()])) })),
            }),
          ),
          [],
        ),
      }),
    ),
  }),
);
const listSchema = z.object({
  agent_dispatches: z.optional(dispatchesSchema),
  agentDispatches: z.optional(dispatchesSchema),
});

/** The second request places the call, so nobody is called if the first one fails. */
function notDispatched(outcome: DialOutcome): DialOutcome {
  if (outcome.kind !== "unknown") return outcome;
  return { kind: "not_placed", code: `dispatch_${outcome.code}` };
}

/**
 * Returns the outcome of a dispatch that failed, undefined if it succeeded. A server that does not know the
 * request, or sends it elsewhere, is no LiveKit server or one without dispatches: the account's `baseUrl` is
 * wrong.
 */
function refusalOfDispatch(answer: Answer, now: number): DialOutcome | undefined {
  const outcome = outcomeOfJson(answer, now, dispatchIdIn, exception);
  const { status } = answer;
  if (outcome.kind === "placed") {
    return status < 300 ? undefined : { kind: "not_placed", code: "dispatch_sip" };
  }
  const isElsewhere = status === 404 || status === 501 || (status >= 300 && status < 400);
  return isElsewhere
    ? { kind: "route_refused", code: `dispatch_${outcome.code}` }
    : notDispatched(outcome);
}

/** Statuses of a job that an agent has taken. It may be without one, as JS_PENDING is the default. */
const underWay = new Set<unknown>([undefined, 0, 1, "JS_PENDING", "JS_RUNNING"]);
/** Kinds of a participant that is an agent (livekit/protocol, livekit_models.proto). */
const agentKinds = new Set<unknown>(["AGENT", 4]);

/** Returns the outcome if no agent came to the room in time, undefined if one did. */
async function agentAbsent(
  send: Send,
  baseUrl: string,
  headers: Record<string, string>,
  room: string,
  timeoutSeconds: number,
): Promise<DialOutcome | undefined> {
  const endsAt = performance.now() + Math.min(timeoutSeconds, agentSecondsMax) * 1000;
  const list = (method: string) =>
    ask(
      send,
      `${baseUrl}/twirp/livekit.${method}`,
      { headers, json: { room } },
      Math.max(endsAt - performance.now(), 1) / 1000,
    );
  let isSeen = false;
  for (const waitMs of agentWaitsMs) {
    if (performance.now() + waitMs >= endsAt) break;
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    try {
      const listed = listSchema.parse(await list("AgentDispatchService/ListDispatch"));
      const dispatches = listed.agent_dispatches ?? listed.agentDispatches ?? [];
      const jobs = dispatches.flatMap(({ state }) => state?.jobs ?? []);
      if (jobs.some(({ state }) => underWay.has(state?.status))) return undefined;
      const inRoom = roomSchema.parse(await list("RoomService/ListParticipants"));
      if (inRoom.participants.some(({ kind }) => agentKinds.has(kind))) return undefined;
      isSeen = true;
    } catch {
      isSeen = false; // the next look may succeed; a last one that failed says nothing
    }
  }
  return isSeen
    ? { kind: "route_refused", code: "agent_absent" }
    : { kind: "not_placed", code: "agent_unseen" };
}

function dispatchIdIn(body: unknown): string | undefined {
  return dispatchSchema.safeParse(body).data?.id;
}

function callIdIn(body: unknown): string | undefined {
  const created = createdSchema.safeParse(body).data;
  if (created === undefined) return undefined;
  return "sipCallId" in created ? created.sipCallId : created.sip_call_id;
}
