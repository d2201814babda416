import type { ResultStatus } from "#shared/calls/call-result.ts";
import type { ResultFixture, ResultsUnderTest } from "#test/contracts/provider-bench.ts";
import { talk } from "./talk.ts";

const headers = { "xi-api-key": "key_3" };
const page = "elevenlabs-js, GetConversationResponseModel";
const rfc = "RFC 3261, section 21";
const seconds = {
  start_time_unix_secs: talk.answeredAt / 1000,
  call_duration_secs: 42,
};

const live = (status: string): ResultFixture => ({
  page,
  says: `\`status: ${status}\``,
  record: { status, start_time_unix_secs: seconds.start_time_unix_secs, call_duration_secs: 0 },
  result: { status: "live" },
});
/** Error of a conversation that failed. */
const sip = (code: number, status: ResultStatus, source = rfc): ResultFixture => ({
  page: source,
  says: `\`failed\`, SIP ${code}`,
  record: {
    status: "failed",
    error: { code: 1011, reason: `INVITE failed: sip status: ${code}: … (SIP ${code})` },
  },
  result: { status, word: `sip_${code}` },
  isListed: false,
});

const fixtures: ResultFixture[] = [
  live("initiated"),
  live("in-progress"),
  live("processing"),
  {
    page,
    says: "`status: done`",
    record: { status: "done", ...seconds },
    result: { status: "completed", word: "done", ...talk },
  },
  {
    page,
    says: "`done`, after the tool `voicemail_detection`",
    record: {
      status: "done",
      ...seconds,
      features_usage: { voicemail_detection: { used: true } },
      tool_names: ["voicemail_detection"],
    },
    result: { status: "voicemail", human: false, word: "done", ...talk },
  },
  {
    page,
    says: "`failed`, after some seconds",
    record: { status: "failed", ...seconds },
    result: { status: "completed", word: "failed", ...talk },
    isListed: false,
  },
  {
    page,
    says: "`failed`, without a length or a SIP status",
    record: { status: "failed", error: { code: 1002, reason: "+12025550123" } },
    result: { status: "unknown", word: "failed" },
    isListed: false,
  },
  {
    page: "livekit/sip, errors.go",
    says: "`failed`, `sip request timed out`",
    record: { status: "failed", error: { code: 1011, reason: "twirp: sip request timed out" } },
    result: { status: "no_answer", word: "sip_request_timed_out" },
    isListed: false,
  },
  {
    page: "livekit/sip, outbound.go",
    says: "`failed`, SIP 403 to a first INVITE",
    record: {
      status: "failed",
      error: { reason: "unexpected status from INVITE response: sip status: 403: Forbidden" },
    },
    result: { status: "blocked", word: "sip_403" },
    isListed: false,
  },
  {
    page: "livekit/sip, errors.go: carrierBlockedError",
    says: "`failed`, a call that the carrier blocks",
    record: {
      status: "failed",
      error: {
        reason:
          "twirp error unknown: INVITE blocked by carrier: carrier blocked call (twilio error 32203): sip status: 603: Decline",
      },
    },
    result: { status: "blocked", word: "carrier_blocked" },
    isListed: false,
  },
  {
    page: "livekit/sip, participant.go: a transfer",
    says: "`failed`, a SIP status of another request than the INVITE",
    record: { status: "failed", error: { reason: "transfer failed: sip status: 486: Busy Here" } },
    result: { status: "unknown", word: "failed" },
    isListed: false,
  },
  sip(408, "no_answer"),
  sip(480, "no_answer"),
  sip(487, "no_answer"),
  sip(486, "busy"),
  sip(600, "busy"),
  sip(603, "declined"),
  sip(404, "invalid"),
  sip(410, "invalid"),
  sip(484, "invalid"),
  sip(604, "invalid"),
  sip(403, "blocked"),
  sip(607, "blocked", "RFC 8197"),
  sip(608, "blocked", "RFC 8688"),
  sip(401, "failed"),
  sip(402, "failed"),
  sip(407, "failed"),
  sip(488, "unknown"),
  sip(500, "unknown"),
  sip(502, "unknown"),
  sip(503, "unknown"),
  sip(504, "unknown"),
];

const list = (query: string) => ({
  path: `/v1/convai/conversations?call_start_after_unix=1795219198&page_size=100${query}`,
  headers,
});

export const elevenlabsResults: ResultsUnderTest = {
  fixtures,
  asks: (id) => [{ path: `/v1/convai/conversations/${id}`, headers }],
  answers: (record, { id }) => {
    const { status, ...metadata } = { status: undefined, ...record };
    return [{ user_id: id, ...(status === undefined ? {} : { status }), metadata }];
  },
  unmapped: (status) => ({ answered: { status, ...seconds }, unanswered: { status } }),
  proof: { ...seconds, accepted_time_unix_secs: talk.answeredAt / 1000 },
  tells: ["id"],
  list: {
    asks: () => [list(""), list("&cursor=page-2")],
    rowOf: (conversation_id, record) => ({
      conversation_id,
      start_time_unix_secs: seconds.start_time_unix_secs,
      ...record,
    }),
    page: (conversations, has_more) => ({
      conversations,
      has_more,
      next_cursor: has_more ? "page-2" : null,
    }),
  },
};
