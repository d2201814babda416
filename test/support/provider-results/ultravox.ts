import type { ResultStatus } from "#shared/calls/call-result.ts";
import type { ResultFixture, ResultsUnderTest } from "#test/contracts/provider-bench.ts";
import { answered, ended, talk } from "./talk.ts";

const headers = { "x-api-key": "aBCDef.123456" };
const page = "docs.ultravox.ai/api-reference/schema/call-definition";
const specification = "tryAGI/Ultravox, openapi.yaml";

const after = (endReason: string): ResultFixture => ({
  page,
  says: `\`${endReason}\``,
  record: { joined: answered, ended, endReason },
  result: { status: "completed", word: endReason, ...talk },
});
const unjoined = (endReason: string, status: ResultStatus): ResultFixture => ({
  page,
  says: `\`${endReason}\`, not joined`,
  record: { joined: null, ended, endReason },
  result: { status, word: endReason, endedAt: talk.endedAt },
});
const sip = (terminationReason: string, status: ResultStatus): ResultFixture => ({
  page: specification,
  says: `\`unjoined\`, \`${terminationReason}\``,
  record: { joined: null, ended, endReason: "unjoined", sipDetails: { terminationReason } },
  result: { status, word: terminationReason, endedAt: talk.endedAt },
});

const fixtures: ResultFixture[] = [
  {
    page,
    says: "`ended: null`, not joined",
    record: { joined: null, ended: null, endReason: null },
    result: { status: "live" },
  },
  {
    page,
    says: "`ended: null`, joined",
    record: { joined: answered, ended: null, endReason: null },
    result: { status: "live", answeredAt: talk.answeredAt },
  },
  after("hangup"),
  after("agent_hangup"),
  after("timeout"),
  after("connection_error"),
  after("system_error"),
  unjoined("unjoined", "unknown"),
  unjoined("timeout", "unknown"),
  unjoined("connection_error", "unknown"),
  unjoined("system_error", "unknown"),
  sip("SIP_TERMINATION_TIMEOUT", "no_answer"),
  sip("SIP_TERMINATION_CANCELED", "no_answer"),
  sip("SIP_TERMINATION_BUSY", "busy"),
  sip("SIP_TERMINATION_REJECTED", "declined"),
  sip("SIP_TERMINATION_INVALID_NUMBER", "invalid"),
  sip("SIP_TERMINATION_DESTINATION_UNAVAILABLE", "failed"),
  {
    ...sip("SIP_TERMINATION_UNKNOWN", "unknown"),
    result: { status: "unknown", word: "unjoined", endedAt: talk.endedAt },
  },
  {
    page: specification,
    says: "`hangup`, `SIP_TERMINATION_NORMAL`",
    record: {
      joined: answered,
      ended,
      endReason: "hangup",
      sipDetails: { terminationReason: "SIP_TERMINATION_NORMAL" },
    },
    result: { status: "completed", word: "hangup", ...talk },
  },
];

const list = (query: string) => ({
  path: `/api/calls?fromDate=2026-11-20T23%3A59%3A58.500Z&pageSize=100${query}`,
  headers,
});

export const ultravoxResults: ResultsUnderTest = {
  fixtures,
  asks: (id) => [{ path: `/api/calls/${id}`, headers }],
  answers: (record, { id }) => [
    { callId: "provider-1", metadata: { call_id: id, attempt: "1" }, ...record },
  ],
  unmapped: (endReason) => ({
    answered: { joined: answered, ended, endReason },
    unanswered: { joined: null, ended, endReason },
  }),
  proof: { joined: answered },
  tells: ["id", "attempt"],
  list: {
    asks: () => [list(""), list("&cursor=page-2")],
    rowOf: (callId, record) => ({ callId, metadata: {}, ...record }),
    page: (results, hasMore) => ({
      results,
      next: hasMore ? "https://elsewhere.example/api/calls?cursor=page-2&pageSize=9" : null,
    }),
  },
};
