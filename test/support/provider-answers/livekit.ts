import type { AnswerFixture } from "#test/contracts/provider-bench.ts";

type Outcome = AnswerFixture["outcome"];
const rang: Outcome = { kind: "placed" };

/**
 * Error answers as made by twitchtv/twirp (errors.go), with the words that livekit/protocol puts before the text of an
 * error of its services (utils/xtwirp/errors.go, in servers since February 2025).
 */
const error = (
  status: number,
  code: string,
  outcome: Outcome,
  msg = "twirp error unknown: object cannot be found",
): AnswerFixture => ({
  page: `twitchtv/twirp, errors.go: ${code}`,
  says: `\`${code}\``,
  status,
  body: { code, msg },
  outcome,
});

/** Errors with a SIP status, as livekit/sip (outbound.go) and livekit/protocol (livekit/sip.go) make them. */
const sipError = (
  [status, code]: [number, string],
  [sip, phrase]: [string, string],
  outcome: Outcome,
): AnswerFixture => ({
  page: `livekit/protocol, sip.go: ${sip}`,
  says: `\`${code}\` with SIP ${sip}`,
  status,
  body: {
    code,
    msg: `twirp error unknown: INVITE failed: sip status: ${sip}: ${phrase}`,
    meta: { sip_status: phrase, sip_status_code: sip },
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
  sipError([408, "deadline_exceeded"], ["408", "Request Timeout"], rang),
  sipError([429, "resource_exhausted"], ["480", "Temporarily Unavailable"], rang),
  sipError([429, "resource_exhausted"], ["486", "Busy Here"], rang),
  sipError([409, "aborted"], ["487", "Request Terminated"], rang),
  sipError([429, "resource_exhausted"], ["600", "Busy Everywhere"], rang),
  sipError([403, "permission_denied"], ["603", "Decline"], rang),
  sipError([403, "permission_denied"], ["607", "Unwanted"], rang),
  sipError([403, "permission_denied"], ["608", "Rejected"], rang),
  sipError([404, "not_found"], ["404", "Not Found"], {
    kind: "rejected",
    code: "sip_404",
    blamesNumber: true,
  }),
  sipError([404, "not_found"], ["410", "Gone"], {
    kind: "rejected",
    code: "sip_410",
    blamesNumber: true,
  }),
  sipError([400, "invalid_argument"], ["484", "Address Incomplete"], {
    kind: "rejected",
    code: "sip_484",
    blamesNumber: true,
  }),
  sipError([404, "not_found"], ["604", "Does Not Exist Anywhere"], {
    kind: "rejected",
    code: "sip_604",
    blamesNumber: true,
  }),
  sipError([403, "permission_denied"], ["401", "Unauthorized"], {
    kind: "account_refused",
    code: "sip_401",
  }),
  sipError([403, "permission_denied"], ["402", "Payment Required"], {
    kind: "account_refused",
    code: "sip_402",
  }),
  sipError([401, "unauthenticated"], ["407", "Proxy Authentication Required"], {
    kind: "account_refused",
    code: "sip_407",
  }),
  sipError([403, "permission_denied"], ["403", "Forbidden"], {
    kind: "forbidden",
    code: "sip_403",
  }),
  sipError([404, "not_found"], ["302", "Moved Temporarily"], unknown("sip_302")),
  sipError([400, "invalid_argument"], ["488", "Not Acceptable Here"], unknown("sip_488")),
  sipError([412, "failed_precondition"], ["503", "Service Unavailable"], unknown("sip_503")),
  {
    page: "livekit/protocol, sip.go: as a number",
    says: "`resource_exhausted` with SIP 486 as a number",
    status: 429,
    body: {
      code: "resource_exhausted",
      msg: "twirp error unknown: INVITE failed: sip status: 486: Busy Here",
      meta: { sip_status: "Busy Here", sip_status_code: 486 },
    },
    outcome: rang,
  },
  {
    page: "livekit/protocol, sip.go: in the message alone",
    says: "`resource_exhausted` with SIP 486 in its message alone",
    status: 429,
    text: "sip status 486: Busy Here",
    body: { code: "resource_exhausted", msg: "sip status 486: Busy Here" },
    outcome: unknown("sip"),
  },
  {
    page: "github.com/livekit/python-sdks/issues/479, as its SDK printed it",
    source: "capture",
    says: "`invalid_argument` with SIP 400",
    status: 400,
    body: {
      code: "invalid_argument",
      msg: "twirp error unknown: INVITE failed: sip status: 400 (BAD_REQUEST)",
      meta: {
        error_details:
          "CAMSLElOVklURSBmYWlsZWQ6IHNpcCBzdGF0dXM6IDQwMCAoQkFEX1JFUVVFU1QpGiwKJXR5cGUuZ29vZ2xlYXBpcy5jb20vbGl2ZWtpdC5TSVBTdGF0dXMSAwiQAw==",
        sip_status: "SIP_STATUS_BAD_REQUEST",
        sip_status_code: "400",
      },
    },
    outcome: unknown("sip_400"),
  },
  {
    page: "github.com/livekit/python-sdks/issues/472, as its SDK printed it",
    source: "capture",
    says: "`internal` with SIP 500",
    status: 500,
    body: {
      code: "internal",
      msg: "twirp error unknown: unexpected status from INVITE response: sip status: 500 (INTERNAL_SERVER_ERROR)",
      meta: {
        error_details:
          "CA0ST3VuZXhwZWN0ZWQgc3RhdHVzIGZyb20gSU5WSVRFIHJlc3BvbnNlOiBzaXAgc3RhdHVzOiA1MDAgKElOVEVSTkFMX1NFUlZFUl9FUlJPUikaLAoldHlwZS5nb29nbGVhcGlzLmNvbS9saXZla2l0LlNJUFN0YXR1cxIDCPQD",
        sip_status: "SIP_STATUS_INTERNAL_SERVER_ERROR",
        sip_status_code: "500",
      },
    },
    outcome: unknown("sip_500"),
  },
  error(429, "resource_exhausted", { kind: "not_placed", code: "livekit_resource_exhausted" }),
  error(
    401,
    "unauthenticated",
    { kind: "account_refused", code: "livekit_unauthenticated" },
    "permissions denied",
  ),
  error(
    403,
    "permission_denied",
    { kind: "account_refused", code: "livekit_permission_denied" },
    "permissions denied",
  ),
  error(400, "invalid_argument", { kind: "rejected", code: "livekit_invalid_argument" }),
  error(400, "malformed", { kind: "rejected", code: "livekit_malformed" }),
  error(400, "out_of_range", { kind: "rejected", code: "livekit_out_of_range" }),
  {
    ...error(404, "not_found", { kind: "route_refused", code: "livekit_not_found" }),
    page: "github.com/livekit/agents/issues/2169, as its SDK printed it: an unknown trunk",
    source: "capture",
    says: "`not_found`: the trunk",
  },
  error(
    404,
    "bad_route",
    { kind: "route_refused", code: "livekit_bad_route" },
    'no handler for path "/twirp/livekit.SIP/CreateSIPParticipant"',
  ),
  error(408, "deadline_exceeded", unknown("livekit_deadline_exceeded")),
  error(409, "already_exists", unknown("livekit_already_exists")),
  error(409, "aborted", unknown("livekit_aborted")),
  error(408, "canceled", unknown("livekit_canceled"), "twirp error unknown: sip request timed out"),
  {
    page: "livekit/protocol, rpc/sip.go",
    says: "`failed_precondition`: no numbers on outbound trunk",
    status: 412,
    text: "no numbers on outbound trunk",
    body: {
      code: "failed_precondition",
      msg: "twirp error unknown: no numbers on outbound trunk",
    },
    outcome: { kind: "route_refused", code: "livekit_no_numbers" },
  },
  {
    ...error(
      412,
      "failed_precondition",
      { kind: "route_refused", code: "livekit_no_numbers" },
      "no numbers on outbound trunk",
    ),
    page: "livekit/protocol, rpc/sip.go, in servers before February 2025",
    says: "`failed_precondition`: no numbers on outbound trunk, of an older server",
  },
  error(412, "failed_precondition", unknown("livekit_failed_precondition")),
  error(500, "internal", unknown("livekit_internal")),
  error(501, "unimplemented", unknown("livekit_unimplemented")),
  error(
    503,
    "unavailable",
    unknown("livekit_unavailable"),
    "twirp error unknown: no response from servers",
  ),
];

const dispatch = (fixture: AnswerFixture): AnswerFixture => ({
  ...fixture,
  says: `to the dispatch: ${fixture.says ?? ""}`,
});
const notSent = (code: string): Outcome => ({ kind: "not_placed", code });
const ofRoute = (code: string): Outcome => ({ kind: "route_refused", code });

/** Answers to CreateDispatch that end the attempt. Nobody has been called by then. */
export const livekitDispatchAnswers: AnswerFixture[] = [
  error(
    404,
    "bad_route",
    ofRoute("dispatch_livekit_bad_route"),
    'no handler for path "/twirp/livekit.SIP/CreateSIPParticipant"',
  ),
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
  error(
    401,
    "unauthenticated",
    { kind: "account_refused", code: "livekit_unauthenticated" },
    "permissions denied",
  ),
  error(
    403,
    "permission_denied",
    { kind: "account_refused", code: "livekit_permission_denied" },
    "permissions denied",
  ),
  error(429, "resource_exhausted", notSent("livekit_resource_exhausted")),
  error(400, "invalid_argument", { kind: "rejected", code: "livekit_invalid_argument" }),
  error(500, "internal", notSent("dispatch_livekit_internal")),
  error(
    503,
    "unavailable",
    notSent("dispatch_livekit_unavailable"),
    "twirp error unknown: no response from servers",
  ),
  error(408, "deadline_exceeded", notSent("dispatch_livekit_deadline_exceeded")),
  sipError([429, "resource_exhausted"], ["486", "Busy Here"], notSent("dispatch_sip")),
].map(dispatch);
