import { type AnswerFixture, type LookUpFixture, sought } from "#test/contracts/provider-bench.ts";

/** Error answers from elevenlabs.io/docs/eleven-api/resources/errors, and from the help centre where named. */
const error = (
  status: number,
  detail: unknown,
  says: string,
  kind: "rejected" | "account_refused" | "not_placed" | "route_refused",
): AnswerFixture => ({
  page: `elevenlabs.io/docs/eleven-api/resources/errors: ${says}`,
  says,
  status,
  body: { detail },
  outcome: { kind, code: `http_${status}` },
});

const sdk = "elevenlabs-js, SipTrunkOutboundCallResponse";
const failed = (
  message: string,
  says: string,
  outcome: AnswerFixture["outcome"],
): AnswerFixture => ({
  page: `${sdk}, with a message that users have seen: ${says}`,
  says: `\`success: false\`, ${says}`,
  status: 200,
  text: message,
  body: { success: false, message, conversation_id: "conv_1", sip_call_id: null },
  outcome,
});
const invite = (status: number, text: string) => `INVITE failed: sip status: ${status}: ${text}`;
const sipAnswer = (status: number, text: string, outcome: AnswerFixture["outcome"]) =>
  failed(invite(status, text), `SIP ${status}`, outcome);
const rang = { kind: "placed", providerCallId: "conv_1" } as const;

export const elevenlabsAnswers: AnswerFixture[] = [
  {
    page: "github.com/elevenlabs/skills, outbound-calls.md",
    source: "example",
    says: "`success: true`",
    status: 200,
    body: {
      success: true,
      message: "Call initiated successfully",
      conversation_id: "conv_abc123",
      callSid: "CA1234567890abcdef",
    },
    outcome: { kind: "placed", providerCallId: "conv_abc123" },
  },
  {
    page: `${sdk}, without a conversation yet`,
    says: "`success: true` without a conversation",
    status: 200,
    body: { success: true, message: "ok", conversation_id: null, sip_call_id: "SCL_1" },
    outcome: { kind: "placed", providerCallId: "SCL_1" },
  },
  {
    page: "@elevenlabs/elevenlabs-js 2.73.0, ExotelOutboundCallResponse",
    says: "`success: true` through Exotel, without a conversation yet",
    status: 200,
    body: { success: true, message: "ok", conversation_id: null, callSid: "a1b2c3d4e5f6a7b8" },
    outcome: { kind: "placed", providerCallId: "a1b2c3d4e5f6a7b8" },
  },
  {
    page: `${sdk}, without success`,
    says: "`success: false`, another message",
    status: 200,
    body: { success: false, message: "no", conversation_id: null, callSid: null },
    outcome: { kind: "unknown", code: "success_false" },
  },
  {
    ...failed(invite(404, "Domain unavailable (SIP 404)"), "SIP 404, of a trunk's wrong address", {
      kind: "rejected",
      code: "sip_404",
    }),
    source: "capture",
  },
  sipAnswer(404, "Not Found", { kind: "rejected", code: "sip_404", blamesNumber: true }),
  sipAnswer(410, "Gone", { kind: "rejected", code: "sip_410", blamesNumber: true }),
  sipAnswer(407, "Proxy Auth", { kind: "account_refused", code: "sip_407" }),
  sipAnswer(403, "Unverified origination number D51", { kind: "forbidden", code: "sip_403" }),
  sipAnswer(480, "Temporarily Unavailable (SIP 480)", rang),
  sipAnswer(486, "Busy here (SIP 486)", rang),
  sipAnswer(603, "Decline", rang),
  sipAnswer(488, "Not acceptable here", { kind: "unknown", code: "sip_488" }),
  sipAnswer(503, "Service Unavailable", { kind: "unknown", code: "sip_503" }),
  failed(
    "twirp error unknown: unexpected status from INVITE response: sip status: 403 (FORBIDDEN)",
    "SIP 403 to a first INVITE",
    { kind: "forbidden", code: "sip_403" },
  ),
  failed(
    "unexpected status from INVITE response: sip status: 404: Not Found",
    "SIP 404 to a first INVITE",
    { kind: "rejected", code: "sip_404", blamesNumber: true },
  ),
  failed(
    "INVITE blocked by carrier: carrier blocked call (twilio error 32203): sip status: 603: Decline",
    "a call that the carrier blocks",
    rang,
  ),
  failed("sip request timed out", "the phone has rung out", rang),
  error(
    400,
    { status: "max_character_limit_exceeded", message: "…" },
    "`max_character_limit_exceeded`",
    "rejected",
  ),
  error(
    401,
    { status: "invalid_api_key", message: "Invalid API key" },
    "`invalid_api_key`",
    "account_refused",
  ),
  error(401, { status: "quota_exceeded", message: "…" }, "`quota_exceeded`", "account_refused"),
  error(
    422,
    [{ loc: ["body", "conversation_initiation_client_data"], msg: "…", type: "value_error" }],
    "fields that are not valid",
    "rejected",
  ),
  {
    ...error(
      422,
      [{ loc: ["body", "to_number"], msg: "…", type: "value_error" }],
      "`to_number` that is not valid",
      "rejected",
    ),
    outcome: { kind: "rejected", code: "http_422", blamesNumber: true },
  },
  ...["agent_id", "agent_phone_number_id"].map((name) =>
    error(
      422,
      [{ loc: ["body", name], msg: "Field required", type: "missing" }],
      `\`${name}\` that is not valid`,
      "route_refused",
    ),
  ),
  {
    ...error(
      400,
      { status: "invalid_provider_config", message: "…" },
      "`invalid_provider_config`",
      "route_refused",
    ),
    page: "github.com/elevenlabs/elevenlabs-mcp/issues/40, as users have seen it",
    source: "capture",
    outcome: { kind: "route_refused", code: "invalid_provider_config" },
  },
  error(
    404,
    { status: "not_found", message: "…" },
    "an agent or a number that does not exist",
    "route_refused",
  ),
  error(404, "Not Found", "another address", "route_refused"),
  error(
    429,
    { type: "rate_limit_error", code: "rate_limit_exceeded", message: "…" },
    "`rate_limit_exceeded`",
    "not_placed",
  ),
  error(429, "too many requests", "`detail` as text", "not_placed"),
];

const headers = { "xi-api-key": "key_3" };
const conversations = "/v1/convai/conversations";
const listOf = (id: string) => ({
  path: `${conversations}?user_id=${id}&page_size=10`,
  headers,
});
const oneOf = (id: string) => ({ path: `${conversations}/${id}`, headers });
const row = (conversation_id: string, more: object = {}) => ({
  agent_id: "agent_9",
  conversation_id,
  start_time_unix_secs: Math.ceil(sought.from / 1000),
  status: "initiated",
  ...more,
});
const page = (conversation_ids: string[], has_more = false) => ({
  conversations: conversation_ids.map((id) => row(id)),
  has_more,
});
const listPage = "elevenlabs.io/docs/eleven-agents/api-reference/conversations/list";
const errorPage = "elevenlabs-js, ConversationHistoryErrorCommonModel";

const failedAs = (
  says: string,
  failure: object | null,
  found: LookUpFixture["found"],
  more: { attempt?: number; seconds?: number; acceptedAt?: number; hasMore?: boolean } = {},
): LookUpFixture => ({
  page: `${errorPage}: ${says}`,
  says: `\`status: failed\`, ${says}`,
  asks: ({ id }) => [listOf(id), oneOf("conv_1")],
  answers: ({ id }) => [
    page(["conv_1"], more.hasMore),
    {
      conversation_id: "conv_1",
      user_id: id,
      status: "failed",
      transcript: [],
      metadata: {
        call_duration_secs: more.seconds ?? 0,
        accepted_time_unix_secs: more.acceptedAt ?? null,
        termination_reason: "",
        error: failure,
      },
    },
  ],
  found,
  ...(more.attempt === undefined ? {} : { attempt: more.attempt }),
});
const sipError = (status: number, text: string) => ({ code: status, reason: invite(status, text) });
const placed = { by: "id" as const, providerCallId: "conv_1" };

export const elevenlabsLookUps: LookUpFixture[] = [
  {
    page: listPage,
    says: "a conversation of our `user_id`",
    asks: ({ id }) => [listOf(id), oneOf("conv_1"), oneOf("conv_2")],
    answers: ({ id }) => [
      {
        conversations: [
          row("conv_0", { start_time_unix_secs: sought.from / 1000 - 3 }), // an earlier attempt
          row("conv_1"),
          row("conv_2"),
        ],
        has_more: false,
      },
      { conversation_id: "conv_1", user_id: "call_other", status: "done" },
      { conversation_id: "conv_2", user_id: id, status: "in-progress", metadata: {} },
    ],
    found: { by: "id", providerCallId: "conv_2" },
  },
  {
    page: `${listPage}, none`,
    says: "no conversation",
    asks: ({ id }) => [listOf(id)],
    answers: () => [{ conversations: [], has_more: false }],
    found: undefined,
  },
  failedAs("SIP 404", sipError(404, "Invalid destination number D11 (SIP 404)"), {
    by: "id",
    notPlaced: { kind: "rejected", code: "sip_404", blamesNumber: true },
  }),
  failedAs("SIP 407", sipError(407, "Proxy Auth"), {
    by: "id",
    notPlaced: { kind: "account_refused", code: "sip_407" },
  }),
  failedAs("SIP 404, sought as a later attempt", sipError(404, "…"), undefined, { attempt: 2 }),
  failedAs("SIP 404, beside conversations on a further page", sipError(404, "…"), undefined, {
    hasMore: true,
  }),
  failedAs("SIP 486", sipError(486, "Busy here (SIP 486)"), placed),
  failedAs("SIP 480", sipError(480, "Temporarily Unavailable (SIP 480)"), placed),
  failedAs("SIP 403", sipError(403, "…"), undefined),
  failedAs("SIP 503", sipError(503, "…"), undefined),
  failedAs("a code alone", { code: 404 }, undefined),
  failedAs("no error", null, undefined),
  failedAs("SIP 407 to a transfer", sipError(407, "Proxy Auth"), placed, {
    acceptedAt: sought.from / 1000,
  }),
  failedAs("after some seconds of a call", { code: 1011, reason: "…" }, placed, { seconds: 7 }),
  {
    page: `${errorPage}: beside another conversation of the same call`,
    says: "`status: failed` twice",
    asks: ({ id }) => [listOf(id), oneOf("conv_1"), oneOf("conv_2")],
    answers: ({ id }) => [
      page(["conv_1", "conv_2"]),
      ...["conv_1", "conv_2"].map((conversation_id) => ({
        conversation_id,
        user_id: id,
        status: "failed",
        metadata: { error: sipError(404, "…") },
      })),
    ],
    found: undefined,
  },
];
