import { expect } from "vitest";
import type { AnswerFixture, LookUpFixture } from "../../contracts/provider-bench.ts";

type Outcome = AnswerFixture["outcome"];
const rang: Outcome = { kind: "placed" };

/** Error answers as made by twitchtv/twirp (errors.go) and, with a SIP status, by livekit/protocol (sip.go). */
const error = (status: number, code: string, outcome: Outcome, sip?: string): AnswerFixture => ({
  page:
    sip === undefined ? `twitchtv/twirp, errors.go: ${code}` : `livekit/protocol, sip.go: ${sip}`,
  says: sip === undefined ? `\`${code}\`` : `\`${code}\` with SIP ${sip}`,
  status,
  body: {
    code,
    msg: "…",
    ...(sip === undefined ? {} : { meta: { sip_status_code: sip, sip_status: "…" } }),
  },
  outcome,
});
const unknown = (code: string): Outcome => ({ kind: "unknown", code });

/** Answers to CreateSIPParticipant, which places the call. */
export const livekitAnswers: AnswerFixture[] = [
  {
    page: "docs.livekit.io/reference/telephony/sip-api: SIPParticipantInfo",
    says: "a participant",
    status: 200,
    body: {
      participant_id: "PA_1",
      participant_identity: "callee",
      room_name: "…",
      sip_call_id: "SCL_1",
    },
    outcome: { kind: "placed", providerCallId: "SCL_1" },
  },
  {
    page: "the same, in the other spelling of protocol buffers",
    says: "a participant, in camel case",
    status: 200,
    body: { participantId: "PA_1", sipCallId: "SCL_2" },
    outcome: { kind: "placed", providerCallId: "SCL_2" },
  },
  error(408, "deadline_exceeded", rang, "408"),
  error(429, "resource_exhausted", rang, "480"),
  error(429, "resource_exhausted", rang, "486"),
  error(409, "aborted", rang, "487"),
  error(429, "resource_exhausted", rang, "600"),
  error(403, "permission_denied", rang, "603"),
  error(403, "permission_denied", rang, "607"),
  error(403, "permission_denied", rang, "608"),
  error(404, "not_found", { kind: "rejected", code: "sip_404" }, "404"),
  error(404, "not_found", { kind: "rejected", code: "sip_410" }, "410"),
  error(400, "invalid_argument", { kind: "rejected", code: "sip_484" }, "484"),
  error(404, "not_found", { kind: "rejected", code: "sip_604" }, "604"),
  error(403, "permission_denied", { kind: "account_refused", code: "sip_401" }, "401"),
  error(403, "permission_denied", { kind: "account_refused", code: "sip_402" }, "402"),
  error(401, "unauthenticated", { kind: "account_refused", code: "sip_407" }, "407"),
  error(403, "permission_denied", { kind: "forbidden", code: "sip_403" }, "403"),
  error(404, "not_found", unknown("sip_302"), "302"),
  error(400, "invalid_argument", unknown("sip_488"), "488"),
  error(412, "failed_precondition", unknown("sip_503"), "503"),
  {
    page: "livekit/protocol, sip.go: as a number",
    says: "`resource_exhausted` with SIP 486 as a number",
    status: 429,
    body: { code: "resource_exhausted", msg: "…", meta: { sip_status_code: 486 } },
    outcome: rang,
  },
  {
    page: "livekit/protocol, sip.go: in the message alone",
    says: "`resource_exhausted` with SIP 486 in its message alone",
    status: 429,
    body: { code: "resource_exhausted", msg: "sip status 486: Busy Here" },
    outcome: unknown("sip"),
  },
  error(429, "resource_exhausted", { kind: "not_placed", code: "livekit_resource_exhausted" }),
  error(401, "unauthenticated", { kind: "account_refused", code: "livekit_unauthenticated" }),
  error(403, "permission_denied", { kind: "account_refused", code: "livekit_permission_denied" }),
  error(400, "invalid_argument", { kind: "rejected", code: "livekit_invalid_argument" }),
  error(400, "malformed", { kind: "rejected", code: "livekit_malformed" }),
  error(400, "out_of_range", { kind: "rejected", code: "livekit_out_of_range" }),
  {
    ...error(404, "not_found", { kind: "route_refused", code: "livekit_not_found" }),
    page: "livekit/livekit, pkg/service/sip.go: ErrSIPTrunkNotFound",
    says: "`not_found`: the trunk",
  },
  error(404, "bad_route", { kind: "route_refused", code: "livekit_bad_route" }),
  error(408, "deadline_exceeded", unknown("livekit_deadline_exceeded")),
  error(409, "already_exists", unknown("livekit_already_exists")),
  error(409, "aborted", unknown("livekit_aborted")),
  error(408, "canceled", unknown("livekit_canceled")),
  {
    page: "livekit/protocol, rpc/sip.go",
    says: "`failed_precondition`: no numbers on outbound trunk",
    status: 412,
    body: { code: "failed_precondition", msg: "no numbers on outbound trunk" },
    outcome: { kind: "route_refused", code: "livekit_no_numbers" },
  },
  error(412, "failed_precondition", unknown("livekit_failed_precondition")),
  error(500, "internal", unknown("livekit_internal")),
  error(501, "unimplemented", unknown("livekit_unimplemented")),
  error(503, "unavailable", unknown("livekit_unavailable")),
];

const dispatch = (fixture: AnswerFixture): AnswerFixture => ({
  ...fixture,
  says: `to the dispatch: ${fixture.says ?? ""}`,
});
const notSent = (code: string): Outcome => ({ kind: "not_placed", code });
const ofRoute = (code: string): Outcome => ({ kind: "route_refused", code });

/** Answers to CreateDispatch that end the attempt. Nobody has been called by then. */
export const livekitDispatchAnswers: AnswerFixture[] = [
  error(404, "bad_route", ofRoute("dispatch_livekit_bad_route")),
  error(501, "unimplemented", ofRoute("dispatch_livekit_unimplemented")),
  error(404, "not_found", ofRoute("dispatch_livekit_not_found")),
  {
    page: "RFC 9110, section 15.4.3: another address",
    says: "a redirect",
    status: 302,
    body: {},
    outcome: ofRoute("dispatch_http_302"),
  },
  {
    page: "RFC 9110, section 15.5.5: no such address",
    says: "404 of a server that is not LiveKit's",
    status: 404,
    body: "<html>not found</html>",
    outcome: ofRoute("dispatch_http_404"),
  },
  error(401, "unauthenticated", { kind: "account_refused", code: "livekit_unauthenticated" }),
  error(403, "permission_denied", { kind: "account_refused", code: "livekit_permission_denied" }),
  error(429, "resource_exhausted", notSent("livekit_resource_exhausted")),
  error(400, "invalid_argument", { kind: "rejected", code: "livekit_invalid_argument" }),
  error(500, "internal", notSent("dispatch_livekit_internal")),
  error(503, "unavailable", notSent("dispatch_livekit_unavailable")),
  error(408, "deadline_exceeded", notSent("dispatch_livekit_deadline_exceeded")),
  error(429, "resource_exhausted", notSent("dispatch_sip"), "486"),
].map(dispatch);

const headers = {
  authorization: expect.stringMatching(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/),
  "content-type": "application/json",
};
const participantsOf = (id: string, attempt = 1) => ({
  path: "/twirp/livekit.RoomService/ListParticipants",
  headers,
  body: { room: `${id}-${attempt}` },
});
const page = "livekit/protocol, livekit_room.proto: ListParticipantsResponse";
const agent = { sid: "PA_0", identity: "agent-AJ_1", state: "ACTIVE", kind: "AGENT" };
const callee = {
  sid: "PA_1",
  identity: "callee",
  state: "ACTIVE",
  attributes: { "sip.callID": "SCL_1", "sip.callStatus": "ringing", "sip.x": "" },
};

export const livekitLookUps: LookUpFixture[] = [
  {
    page,
    says: "the callee in the room of the call and attempt",
    asks: ({ id }) => [participantsOf(id)],
    answers: () => [{ participants: [agent, callee] }],
    found: { by: "id", providerCallId: "SCL_1" },
  },
  {
    page: `${page}, of a later attempt`,
    says: "the callee without the attributes of SIP",
    attempt: 3,
    asks: ({ id }) => [participantsOf(id, 3)],
    answers: () => [{ participants: [{ ...callee, attributes: {} }] }],
    found: { by: "id", providerCallId: "PA_1" },
  },
  {
    page: `${page}, nobody but the agent`,
    says: "nobody but the agent",
    asks: ({ id }) => [participantsOf(id)],
    answers: () => [{ participants: [agent] }],
    found: undefined,
  },
  {
    page: `${page}, an empty room`,
    says: "nobody",
    asks: ({ id }) => [participantsOf(id)],
    answers: () => [{}],
    found: undefined,
  },
];
