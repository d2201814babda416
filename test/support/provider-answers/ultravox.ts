import type { AnswerFixture, LookUpFixture } from "#test/contracts/provider-bench.ts";

const create = "docs.ultravox.ai/api-reference/agents/agents-calls-post";
const list = "docs.ultravox.ai/api-reference/calls/calls-list";
const callId = "b7a1f0de-0000-4000-8000-000000000001";
/** Error bodies are not published. These have the form of the framework that the address answers with. */
const framework = "www.django-rest-framework.org/api-guide/exceptions";

export const ultravoxAnswers: AnswerFixture[] = [
  {
    page: create,
    says: "a call",
    status: 201,
    body: {
      callId,
      clientVersion: null,
      created: "2023-11-07T05:31:56Z",
      joined: null,
      ended: null,
      endReason: null,
      joinUrl: null,
      medium: { twilio: { outgoing: { to: "+12025550123", from: "+12025550100" } } },
      metadata: {},
    },
    outcome: { kind: "placed", providerCallId: callId },
  },
  {
    page: "docs.ultravox.ai/gettingstarted/concurrency",
    says: "calls at once, or a second or minute",
    status: 429,
    body: {},
    outcome: { kind: "not_placed", code: "http_429" },
  },
  {
    page: `${framework}: NotFound`,
    says: "with `detail`: no such agent",
    status: 404,
    body: { detail: "Not found." },
    outcome: { kind: "route_refused", code: "ultravox_agent_not_found" },
  },
  {
    page: `${framework}: ValidationError`,
    says: "a wrong field",
    status: 400,
    body: { medium: ["Invalid phone number: +12025550123"] },
    outcome: { kind: "rejected", code: "http_400" },
  },
  {
    page: `${framework}: AuthenticationFailed`,
    says: "a wrong key",
    status: 401,
    body: { detail: "Invalid API key." },
    outcome: { kind: "account_refused", code: "http_401" },
  },
  {
    page: "RFC 9110, section 15.6.3",
    says: "the carrier's failure, or a server's between",
    status: 502,
    body: { detail: "Bad gateway" },
    outcome: { kind: "unknown", code: "http_502" },
  },
];

const asksFor = (id: string) => [
  {
    path: `/api/calls?metadata.call_id=${id}&pageSize=20`,
    headers: { "x-api-key": "aBCDef.123456" },
  },
];
/** A row of the list, with the fields that matter here. */
const row = (id: string, more: object = {}) => ({
  callId: "b7a1f0de-0000-4000-8000-000000000009",
  created: "2026-11-21T00:00:00Z",
  joined: "2026-11-21T00:00:09Z",
  ended: null,
  endReason: null,
  metadata: { call_id: id, attempt: "1" },
  ...more,
});

export const ultravoxLookUps: LookUpFixture[] = [
  {
    page: list,
    says: "a call with our id and attempt in `metadata`",
    asks: ({ id }) => asksFor(id),
    answers: ({ id }) => [
      {
        results: [
          row("call_other"),
          row(id, { metadata: { call_id: id, attempt: "2" } }),
          row(id, { callId }),
        ],
        next: null,
        total: 3,
      },
    ],
    found: { by: "id", providerCallId: callId },
  },
  {
    page: `${list}: endReason unjoined`,
    says: "a call that nobody answered",
    asks: ({ id }) => asksFor(id),
    answers: ({ id }) => [{ results: [row(id, { callId, joined: null, endReason: "unjoined" })] }],
    found: { by: "id", providerCallId: callId },
  },
  {
    page: `${list}: endReason system_error`,
    says: "a call that failed before anybody joined",
    asks: ({ id }) => asksFor(id),
    answers: ({ id }) => [{ results: [row(id, { joined: null, endReason: "system_error" })] }],
    found: undefined,
  },
  {
    page: `${list}: where the filter is ignored`,
    says: "other calls, and one without metadata",
    asks: ({ id }) => asksFor(id),
    answers: () => [{ results: [row("call_other"), row("", { metadata: null })] }],
    found: undefined,
  },
];
