import { SignJWT } from "jose";
import * as z from "zod";
import {
  type DialOutcome,
  type FoundCall,
  type ProviderType,
  routeFields,
} from "./dialing-provider.ts";
import { httpsUrl } from "./https-url.ts";
import { type Answer, ask, outcomeOfJson, postJson } from "./post.ts";

const routeSchema = z.strictObject({
  ...routeFields,
  type: z.literal("livekit"),
  /** The project's own URL. */
  baseUrl: z.string("is required: set the account's baseUrl in providers").pipe(httpsUrl),
  /** Name under which the agent is registered. */
  agent: z.string().min(1).max(200),
  /** Id of the outbound SIP trunk. */
  trunk: z.string().min(1).max(200),
});

/** Identity of the callee in the room. */
const calleeIdentity = "callee";
/** Validity of a token, which is made for one request. */
const tokenSeconds = 600;

/**
 * LiveKit, by two requests (https://docs.livekit.io/sip/outbound-calls): the agent is dispatched to a room,
 * then the callee is called into it. The room is named by the call's id and attempt, so that a later attempt
 * never meets the agent of one that was not placed. Secrets: `LIVEKIT_API_KEY` and `LIVEKIT_API_SECRET`,
 * which sign a token for each request.
 *
 * ```json
 * POST /twirp/livekit.AgentDispatchService/CreateDispatch
 * {"agent_name": "…", "room": "call_…-1", "metadata": "{\"call_id\":\"call_…\",\"agent_id\":\"agent_sales\",\"context\":{}}"}
 * POST /twirp/livekit.SIP/CreateSIPParticipant
 * {"sip_trunk_id": "ST_…", "sip_call_to": "+12025550123", "room_name": "call_…-1", "participant_identity": "callee",
 *  "participant_attributes": {"call_id": "call_…"}, "hide_phone_number": true}
 * ```
 *
 * Each request may take half of `timeoutSeconds`. 200 with `sip_call_id`: placed. An agent dispatched for a
 * call that was then not placed waits in an empty room, and should leave if nobody joins. LiveKit accepts
 * 64,000 bytes of metadata, more than a context can fill.
 *
 * Errors are Twirp's, `{code, msg, meta}`. Their code counts, not the status: `meta.sip_status_code` means
 * that the callee's side has answered, so a 429 with 486 is a busy phone that has rung and no limit of the
 * account (livekit/protocol, sip.go). `wait_until_answered` stays false, so such answers are rare.
 *
 * A look-up reads the participants of the room, which finds a call only while it lasts.
 */
export const livekit: ProviderType<z.infer<typeof routeSchema>> = {
  name: "livekit",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY", "API_SECRET"],
  create({ secret, fetch, now }) {
    const headersFor = async (provider: string, grants: Record<string, object>) => {
      const key = new TextEncoder().encode(secret(provider, "API_SECRET") ?? "");
      const seconds = Math.floor(now() / 1000);
      const token = await new SignJWT({ ...grants })
        .setProtectedHeader({ alg: "HS256", typ: "JWT" })
        .setIssuer(secret(provider, "API_KEY") ?? "")
        .setNotBefore(seconds - 10)
        .setExpirationTime(seconds + tokenSeconds)
        .sign(key);
      return { authorization: `Bearer ${token}` };
    };
    return {
      async dial({ call: { id, request }, attempt, timeoutSeconds }, route) {
        const { provider, baseUrl, agent, trunk } = route;
        const { phone_number, agent_id, context = {} } = request;
        const room = roomOf(id, attempt);
        const dispatched = await postJson(
          fetch,
          `${baseUrl}/twirp/livekit.AgentDispatchService/CreateDispatch`,
          {
            headers: await headersFor(provider, { video: { roomAdmin: true, room } }),
            json: {
              agent_name: agent,
              room,
              metadata: JSON.stringify({ call_id: id, agent_id, context }),
            },
          },
          timeoutSeconds / 2,
        );
        const sent = "kind" in dispatched ? dispatched : outcomeOf(dispatched, now(), dispatchIdIn);
        // The second request places the call, so nobody is called if the first one fails.
        if (sent.kind === "unknown") return { kind: "not_placed", code: `dispatch_${sent.code}` };
        if (sent.kind !== "placed") return sent;
        const answer = await postJson(
          fetch,
          `${baseUrl}/twirp/livekit.SIP/CreateSIPParticipant`,
          {
            headers: await headersFor(provider, { sip: { call: true } }),
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
        return "kind" in answer ? answer : outcomeOf(answer, now(), callIdIn);
      },

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

const id = z.string().min(1).max(200);
const dispatchSchema = z.object({ id });
/** Answers use either of the two spellings that protocol buffers have in JSON. */
const createdSchema = z.object({ sip_call_id: id }).or(z.object({ sipCallId: id }));
const attributesSchema = z.record(z.string(), z.string());
const roomSchema = z.object({
  participants: z
    .array(z.object({ sid: id, identity: z.string(), attributes: attributesSchema.optional() }))
    .default([]),
});
const errorSchema = z.object({
  code: z.string().regex(/^\w{1,40}$/),
  msg: z.string().default(""),
  meta: z.object({ sip_status_code: z.coerce.string().optional() }).optional(),
});

function dispatchIdIn(body: unknown): string | undefined {
  return dispatchSchema.safeParse(body).data?.id;
}

function callIdIn(body: unknown): string | undefined {
  const created = createdSchema.safeParse(body).data;
  if (created === undefined) return undefined;
  return "sipCallId" in created ? created.sipCallId : created.sip_call_id;
}

function outcomeOf(
  answer: Answer,
  now: number,
  idIn: (body: unknown) => string | undefined,
): DialOutcome {
  return outcomeOfJson(answer, now, idIn, exception);
}

function exception(status: number, body: unknown): DialOutcome | undefined {
  const error = status < 300 ? undefined : errorSchema.safeParse(body).data;
  if (error === undefined) return undefined;
  const sipStatus = error.meta?.sip_status_code;
  if (sipStatus !== undefined) return outcomeOfSip(sipStatus);
  if (/\bsip status\b/i.test(error.msg)) return { kind: "unknown", code: "sip" };
  const code = `livekit_${error.code}`;
  switch (error.code) {
    case "resource_exhausted":
      return { kind: "not_placed", code };
    case "unauthenticated":
    case "permission_denied":
      return { kind: "account_refused", code };
    case "invalid_argument":
    case "malformed":
    case "not_found":
    case "out_of_range":
      return { kind: "rejected", code };
    default:
      return { kind: "unknown", code };
  }
}

/** Maps the SIP status of the callee's side (RFC 3261, section 21) to an outcome. */
function outcomeOfSip(status: string): DialOutcome {
  const code = /^\d{3}$/.test(status) ? `sip_${status}` : "sip";
  switch (status) {
    case "408": // not answered
    case "480":
    case "486": // busy
    case "487":
    case "600":
    case "603": // declined
    case "607":
    case "608":
      return { kind: "placed" };
    case "404":
    case "410":
    case "484":
    case "604":
      return { kind: "rejected", code };
    case "401":
    case "402":
    case "407":
      return { kind: "account_refused", code };
    case "403":
      return { kind: "forbidden", code };
    default:
      return { kind: "unknown", code };
  }
}
