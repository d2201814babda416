import { jwtVerify } from "jose";
import * as z from "#shared/lib/zod.ts";
import { hexId, type StandInCall } from "./calls.ts";
import {
  e164,
  endpoint,
  type Memory,
  type Purpose,
  type StandInRequest,
  type StandInType,
  text,
  unchecked,
} from "./endpoint.ts";

const attributes = z.record(z.string().check(z.maxLength(256)), z.string());
/** A duration as protocol buffers have it in JSON. */
const duration = z.string().check(z.regex(/^\d+(\.\d+)?s$/));
const dispatchSchema = z.strictObject({
  agent_name: text,
  room: text,
  metadata: z.optional(z.string().check(z.maxLength(64_000))),
  attributes: z.optional(attributes),
});
const participantSchema = z.strictObject({
  sip_trunk_id: text,
  sip_call_to: e164,
  sip_number: z.optional(e164),
  room_name: text,
  participant_identity: text,
  participant_name: z.optional(z.string()),
  participant_metadata: z.optional(z.string()),
  participant_attributes: z.optional(attributes),
  play_dialtone: z.optional(z.boolean()),
  hide_phone_number: z.optional(z.boolean()),
  ringing_timeout: z.optional(duration),
  max_call_duration: z.optional(duration),
  krisp_enabled: z.optional(z.boolean()),
  wait_until_answered: z.optional(z.boolean()),
  ...unchecked(
    "destination",
    "display_name",
    "dtmf",
    "headers",
    "include_headers",
    "media",
    "media_encryption",
    "play_ringtone",
    "sip_from_header",
    "sip_request_uri",
    "sip_to_header",
    "to_user_override",
    "trunk",
  ),
});
const roomSchema = z.strictObject({ room: text });
const dispatchesSchema = z.strictObject({ room: text, dispatch_id: z.optional(text) });

/** Agents that were dispatched, by room. */
type Dispatches = Map<string, Dispatch>;
type Dispatch = z.infer<typeof dispatchSchema> & { id: string; at: number };

/**
 * LiveKit's Twirp services (https://docs.livekit.io/reference/telephony/sip-api, livekit/protocol): dispatches
 * an agent, lists dispatches with their jobs, calls a number into a room and lists the room's participants.
 * Each request carries a token of its own. Errors are `{code, msg}`.
 */
export const livekit: StandInType = {
  name: "livekit",
  secrets: { API_KEY: "APIstandin", API_SECRET: "secret-of-the-stand-in-32-characters" },
  create(memory) {
    const dispatches: Dispatches = new Map();
    return {
      credentialProblem: (request, purpose) => tokenProblem(request, purpose, memory),
      refuse({ fault, text: msg }) {
        if (fault === "credentials") return errorOf(401, "unauthenticated", "invalid token");
        if (fault === "address") return errorOf(404, "bad_route", msg);
        return errorOf(400, "invalid_argument", msg);
      },
      endpoints: [
        createDispatch(memory, dispatches),
        listDispatch(memory, dispatches),
        createParticipant(memory),
        listParticipants(memory, dispatches),
      ],
    };
  },
};

function errorOf(status: number, code: string, msg: string) {
  return { status, body: { code, msg } };
}

/** Returns a dispatch in LiveKit's form. Its job runs if a worker serves the agent. */
function dispatchOf({ at, ...dispatch }: Dispatch, { settings }: Memory) {
  const createdAt = String(at * 1_000_000);
  const state = { status: "JS_RUNNING", started_at: createdAt, worker_id: "AW_standin" };
  const job = { id: `AJ_${dispatch.id}`, dispatch_id: dispatch.id, type: "JT_ROOM", state };
  const jobs = settings.hasAgent ? [job] : [];
  return { ...dispatch, state: { jobs, created_at: createdAt } };
}

function createDispatch(memory: Memory, dispatches: Dispatches) {
  return endpoint({
    method: "POST",
    path: /^\/twirp\/livekit\.AgentDispatchService\/CreateDispatch$/,
    purpose: "dispatch",
    body: dispatchSchema,
    perform({ body }) {
      const dispatch = { ...body, id: hexId("AD_"), at: memory.now() };
      dispatches.set(body.room, dispatch);
      return { status: 200, body: dispatchOf(dispatch, memory) };
    },
  });
}

function listDispatch(memory: Memory, dispatches: Dispatches) {
  return endpoint({
    method: "POST",
    path: /^\/twirp\/livekit\.AgentDispatchService\/ListDispatch$/,
    purpose: "look_up",
    body: dispatchesSchema,
    perform({ body: { room, dispatch_id } }) {
      const dispatch = dispatches.get(room);
      const isAsked = dispatch !== undefined && (dispatch_id ?? dispatch.id) === dispatch.id;
      const agent_dispatches = isAsked ? [dispatchOf(dispatch, memory)] : [];
      return { status: 200, body: { agent_dispatches } };
    },
  });
}

function createParticipant({ calls }: Memory) {
  return endpoint({
    method: "POST",
    path: /^\/twirp\/livekit\.SIP\/CreateSIPParticipant$/,
    purpose: "call",
    body: participantSchema,
    perform({ body }) {
      const id = hexId("SCL_");
      const ourId = body.participant_attributes?.["call_id"];
      calls.place({ id, number: body.sip_call_to, ourId, request: body });
      const { participant_identity, room_name } = body;
      const participant_id = hexId("PA_");
      return {
        status: 200,
        body: { participant_id, participant_identity, room_name, sip_call_id: id },
      };
    },
  });
}

function listParticipants({ calls, settings }: Memory, dispatches: Dispatches) {
  return endpoint({
    method: "POST",
    path: /^\/twirp\/livekit\.RoomService\/ListParticipants$/,
    purpose: "look_up",
    body: roomSchema,
    perform({ body: { room } }) {
      const dispatch = dispatches.get(room);
      const callees = calls
        .listed()
        .filter(({ request, status }) => request["room_name"] === room && status !== "ended")
        .map(calleeOf);
      if (callees.length === 0 && dispatch === undefined) {
        return errorOf(404, "not_found", "requested room does not exist");
      }
      const identity = `agent-AJ_${dispatch?.id}`;
      const agent = { sid: `PA_${dispatch?.id}`, identity, state: "ACTIVE", kind: "AGENT" };
      const agents = settings.hasAgent && dispatch !== undefined ? [agent] : [];
      return { status: 200, body: { participants: [...agents, ...callees] } };
    },
  });
}

/** Returns the callee as a participant of the room. */
function calleeOf({ id, request }: StandInCall) {
  return {
    sid: `PA_${id}`,
    identity: request["participant_identity"],
    state: "ACTIVE",
    kind: "SIP",
    attributes: {
      ...z.catch(attributes, {}).parse(request["participant_attributes"]),
      "sip.callID": id,
      "sip.callStatus": "ringing",
    },
  };
}

const claimsSchema = z.object({
  iss: z.string(),
  exp: z.number(),
  video: z.optional(
    z.object({
      roomAdmin: z.optional(z.boolean()),
      roomCreate: z.optional(z.boolean()),
      room: z.optional(z.string()),
    }),
  ),
  sip: z.optional(z.object({ call: z.optional(z.boolean()) })),
});

/** Checks the token's signature, issuer and time, and that it permits this request. */
async function tokenProblem(
  { headers: { authorization = "" }, text: body }: StandInRequest,
  purpose: Purpose,
  { secrets, now }: Memory,
): Promise<string | undefined> {
  const key = new TextEncoder().encode(secrets["API_SECRET"]);
  const token = authorization.replace("Bearer ", "");
  const checks = { algorithms: ["HS256"], currentDate: new Date(now()) };
  const verified = await jwtVerify(token, key, checks).catch(() => undefined);
  const claims = claimsSchema.safeParse(verified?.payload).data;
  if (claims === undefined) return "the token is not valid";
  if (claims.iss !== secrets["API_KEY"]) return "the token is another key's";
  if (purpose === "call") return claims.sip?.call === true ? undefined : "sip.call is missing";
  if (claims.video?.roomAdmin !== true) return "video.roomAdmin is missing";
  // Where rooms are not created by themselves, the dispatch creates one with this grant alone.
  if (purpose === "dispatch" && claims.video.roomCreate !== true) return "roomCreate is missing";
  const isOfRoom = body.includes(`"room":${JSON.stringify(claims.video.room ?? "")}`);
  return isOfRoom ? undefined : "the token is for another room";
}
