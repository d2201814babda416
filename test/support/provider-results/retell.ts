import type { ResultStatus } from "#shared/calls/call-result.ts";
import type { ResultFixture, ResultsUnderTest } from "#test/contracts/provider-bench.ts";
import { talk } from "./talk.ts";

const headers = { authorization: "Bearer key_2" };
const page = "docs.retellai.com/reliability/debug-call-disconnect";
const sdk = "retell-typescript-sdk, PhoneCallResponse";
const spoken = {
  call_status: "ended",
  start_timestamp: talk.answeredAt,
  end_timestamp: talk.endedAt,
  duration_ms: 42_000,
};
const rung = { call_status: "not_connected", end_timestamp: talk.endedAt };

const after = (word: string, source = page): ResultFixture => ({
  page: source,
  says: `\`${word}\``,
  record: { ...spoken, disconnection_reason: word },
  result: { status: "completed", word, ...talk },
});
const without = (word: string, status: ResultStatus): ResultFixture => ({
  page,
  says: `\`${word}\``,
  record: { ...rung, disconnection_reason: word },
  result: { status, word, endedAt: talk.endedAt },
});
const machine = (word: string): ResultFixture => ({
  ...after(word),
  result: { status: "voicemail", human: false, word, ...talk },
});
/** A reason that says nothing of an answer, with and without one. */
const either = (word: string, source = page): ResultFixture[] => [
  { ...after(word, source), says: `\`${word}\`, after some seconds` },
  {
    page: source,
    says: `\`${word}\`, without a length`,
    record: { call_status: "error", disconnection_reason: word },
    result: { status: "unknown", word },
  },
];

const fixtures: ResultFixture[] = [
  {
    page: sdk,
    says: "`call_status: registered`",
    record: { call_status: "registered" },
    result: { status: "live" },
  },
  {
    page: sdk,
    says: "`call_status: ongoing`",
    record: { call_status: "ongoing", start_timestamp: talk.answeredAt },
    result: { status: "live", answeredAt: talk.answeredAt },
  },
  {
    ...after("user_hangup"),
    record: { ...spoken, disconnection_reason: "user_hangup", call_cost: { combined_cost: 70.5 } },
    result: {
      status: "completed",
      word: "user_hangup",
      ...talk,
      cost: { amount: "0.705", currency: "USD" },
    },
  },
  after("agent_hangup"),
  after("call_transfer"),
  after("inactivity"),
  after("max_duration_reached"),
  after("transfer_bridged", sdk),
  after("transfer_cancelled", sdk),
  after("call_take_over", sdk),
  machine("voicemail_reached"),
  machine("ivr_reached"),
  machine("machine_detected"),
  {
    page: sdk,
    says: "`agent_hangup`, `call_analysis.in_voicemail: true`",
    record: {
      ...spoken,
      disconnection_reason: "agent_hangup",
      call_analysis: { in_voicemail: true },
    },
    result: { status: "voicemail", human: false, word: "agent_hangup", ...talk },
  },
  {
    page: "docs.retellai.com/api-references/get-call",
    says: "`agent_hangup`, `custom_analysis_data.do_not_call: true`",
    record: {
      ...spoken,
      disconnection_reason: "agent_hangup",
      call_analysis: { custom_analysis_data: { do_not_call: true, mood: 3 } },
    },
    result: { status: "completed", word: "agent_hangup", ...talk, optedOut: true },
  },
  without("dial_no_answer", "no_answer"),
  without("dial_busy", "busy"),
  without("user_declined", "declined"),
  without("invalid_destination", "invalid"),
  without("marked_as_spam", "blocked"),
  without("dial_failed", "failed"),
  without("telephony_provider_permission_denied", "failed"),
  without("telephony_provider_unavailable", "failed"),
  without("sip_routing_error", "failed"),
  without("concurrency_limit_reached", "failed"),
  { ...after("no_valid_payment"), says: "`no_valid_payment`, after some seconds" },
  {
    page,
    says: "`no_valid_payment`, without a length",
    record: { call_status: "ended", disconnection_reason: "no_valid_payment" },
    result: { status: "failed", word: "no_valid_payment" },
  },
  ...[
    "scam_detected",
    "error_llm_websocket_open",
    "error_llm_websocket_lost_connection",
    "error_llm_websocket_runtime",
    "error_llm_websocket_corrupt_payload",
    "error_no_audio_received",
    "error_asr",
    "error_retell",
    "error_unknown",
    "error_inbound_webhook",
  ].flatMap((word) => either(word)),
  ...[
    "no_concurrency_fallback",
    "manual_stopped",
    "registered_call_timeout",
    "error_user_not_joined",
  ].flatMap((word) => either(word, sdk)),
];

export const retellResults: ResultsUnderTest = {
  fixtures,
  asks: (id) => [{ path: `/v2/get-call/${id}`, headers }],
  answers: (record, { id }) => [
    { call_id: "provider-1", metadata: { call_id: id, attempt: "1" }, ...record },
  ],
  unmapped: (disconnection_reason) => ({
    answered: { ...spoken, disconnection_reason },
    unanswered: { ...rung, disconnection_reason },
  }),
  proof: spoken,
  tells: ["id", "attempt"],
  list: {
    asks: (from) => {
      const body = {
        filter_criteria: { start_timestamp: { type: "number", op: "ge", value: from } },
        sort_order: "ascending",
        limit: 200,
      };
      return [
        { path: "/v3/list-calls", headers, body },
        { path: "/v3/list-calls", headers, body: { ...body, pagination_key: "page-2" } },
      ];
    },
    rowOf: (call_id, record) => ({ call_id, metadata: ["another application's"], ...record }),
    page: (items, has_more) => ({ items, has_more, pagination_key: "page-2" }),
  },
};
