import { describe, expect, it } from "vitest";
import { contextProblem, parseRoute } from "../../../shared/providers/index.ts";
import { describeProvider, sought } from "../../contracts/provider.ts";
import { aCall } from "../../support/calls.ts";

const fields = { agent: "agent_9", from: "phnum_1" };
const row = (conversation_id: string, more: object = {}) => ({
  agent_id: "agent_9",
  conversation_id,
  start_time_unix_secs: Math.ceil(sought.from / 1000),
  status: "initiated",
  ...more,
});
const headers = { "xi-api-key": "key_3" };
const conversations = "/v1/convai/conversations";

/** Error answers from elevenlabs.io/docs/eleven-api/resources/errors, and from the help centre where named. */
const error = (
  status: number,
  detail: unknown,
  kind: "rejected" | "account_refused" | "not_placed",
) => ({
  page: `elevenlabs.io, errors: ${JSON.stringify(detail)}`,
  status,
  body: { detail },
  outcome: { kind, code: `http_${status}` },
});

const fixtures = [
  {
    page: "github.com/elevenlabs/skills, outbound-calls.md",
    status: 200,
    body: {
      success: true,
      message: "Call initiated successfully",
      conversation_id: "conv_abc123",
      callSid: "CA1234567890abcdef",
    },
    outcome: { kind: "placed", providerCallId: "conv_abc123" } as const,
  },
  {
    page: "the SDK's type, without a conversation yet",
    status: 200,
    body: { success: true, message: "ok", conversation_id: null, sip_call_id: "SCL_1" },
    outcome: { kind: "placed", providerCallId: "SCL_1" } as const,
  },
  // The meaning of such an answer is not published, nor its form beyond the type.
  {
    page: "the SDK's type, without success",
    status: 200,
    body: { success: false, message: "no", conversation_id: null, callSid: null },
    outcome: { kind: "unknown", code: "success_false" } as const,
  },
  error(400, { status: "max_character_limit_exceeded", message: "…" }, "rejected"),
  error(401, { status: "invalid_api_key", message: "Invalid API key" }, "account_refused"),
  error(401, { status: "quota_exceeded", message: "…" }, "account_refused"),
  error(422, [{ loc: ["body", "to_number"], msg: "…", type: "value_error" }], "rejected"),
  error(429, { type: "rate_limit_error", code: "rate_limit_exceeded", message: "…" }, "not_placed"),
  error(429, "too many requests", "not_placed"),
];

describe.each(["twilio", "sip-trunk"])("through %s", (through) => {
  describeProvider({
    type: "elevenlabs",
    fields: { ...fields, through },
    secrets: { ELEVENLABS_API_KEY: "key_3" },
    requests: ({ id, request }) => [
      {
        path: `/v1/convai/${through}/outbound-call`,
        headers: { ...headers, "content-type": "application/json" },
        body: {
          agent_id: "agent_9",
          agent_phone_number_id: "phnum_1",
          to_number: request.phone_number,
          conversation_initiation_client_data: {
            dynamic_variables: request.context,
            user_id: id,
          },
        },
      },
    ],
    fixtures,
    lookUps: [
      {
        page: "elevenlabs.io/docs/eleven-agents/api-reference/conversations/list",
        asks: ({ id }) => [
          { path: `${conversations}?user_id=${id}&page_size=10`, headers },
          { path: `${conversations}/conv_1`, headers },
          { path: `${conversations}/conv_2`, headers },
        ],
        answers: ({ id }) => [
          {
            conversations: [
              row("conv_0", { start_time_unix_secs: sought.from / 1000 - 3 }), // an earlier attempt
              row("conv_1"),
              row("conv_2"),
            ],
            has_more: false,
          },
          { conversation_id: "conv_1", user_id: "call_other" },
          { conversation_id: "conv_2", user_id: id },
        ],
        found: { by: "id", providerCallId: "conv_2" },
      },
      {
        page: "elevenlabs.io/docs/eleven-agents/api-reference/conversations/list, none",
        asks: ({ id }) => [{ path: `${conversations}?user_id=${id}&page_size=10`, headers }],
        answers: () => [{ conversations: [], has_more: false }],
        found: undefined,
      },
    ],
  });
});

describe("elevenlabs", () => {
  it("refuses names of variables that are ElevenLabs' own", () => {
    const parsed = parseRoute(
      { provider: "elevenlabs", ...fields, through: "twilio" },
      { type: "elevenlabs" },
    );
    if ("issues" in parsed) throw new Error("the route was refused");
    const problemOf = (context: Record<string, string>) =>
      contextProblem({ ...aCall().request, context }, parsed.route);
    expect(problemOf({ system__caller_id: "x" })).toMatch(/^must not have a key that begins with/);
    expect(problemOf({ system: "x" })).toBeUndefined();
  });
});
