import { describe, expect, it } from "vitest";
import { parseRoute, secretsOf } from "../../../shared/providers/index.ts";
import { describeProvider } from "../../contracts/provider.ts";

const headers = { "x-api-key": "aBCDef.123456", "content-type": "application/json" };
const secrets = { ULTRAVOX_API_KEY: "aBCDef.123456", ULTRAVOX_SIP_PASSWORD: "s3cret" };
const agent = "3c90c3cc-0d44-4b50-8888-8dd25736052a";
const fields = { agent, through: "twilio", from: "+12025550100" };
const create = "docs.ultravox.ai/api-reference/agents/agents-calls-post";
const list = "docs.ultravox.ai/api-reference/calls/calls-list";
const callId = "b7a1f0de-0000-4000-8000-000000000001";

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

describeProvider({
  type: "ultravox",
  fields,
  secrets,
  requests: ({ id, request }) => [
    {
      path: `/api/agents/${agent}/calls`,
      headers,
      body: {
        templateContext: request.context,
        metadata: { call_id: id, attempt: "1" },
        medium: { twilio: { outgoing: { to: request.phone_number, from: "+12025550100" } } },
      },
    },
  ],
  fixtures: [
    {
      page: create,
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
      status: 429,
      body: {},
      outcome: { kind: "not_placed", code: "http_429" },
    },
    // Error bodies are not published. These have the form of the framework that the address answers with.
    {
      page: `${create}, an agent that is gone`,
      status: 404,
      body: { detail: "Not found." },
      outcome: { kind: "route_refused", code: "ultravox_agent_not_found" },
    },
    {
      page: `${create}, a wrong field`,
      status: 400,
      body: { medium: ["Invalid phone number: +12025550123"] },
      outcome: { kind: "rejected", code: "http_400" },
    },
    {
      page: `${create}, a wrong key`,
      status: 401,
      body: { detail: "Invalid API key." },
      outcome: { kind: "account_refused", code: "http_401" },
    },
    {
      page: `${create}, the carrier's failure`,
      status: 502,
      body: { detail: "Bad gateway" },
      outcome: { kind: "unknown", code: "http_502" },
    },
  ],
  lookUps: [
    {
      page: list,
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
      page: `${list}, a call that nobody answered`,
      asks: ({ id }) => asksFor(id),
      answers: ({ id }) => [
        { results: [row(id, { callId, joined: null, endReason: "unjoined" })] },
      ],
      found: { by: "id", providerCallId: callId },
    },
    {
      page: `${list}, a call that failed before anybody joined`,
      asks: ({ id }) => asksFor(id),
      answers: ({ id }) => [{ results: [row(id, { joined: null, endReason: "system_error" })] }],
      found: undefined,
    },
    {
      page: `${list}, where the filter is ignored`,
      asks: ({ id }) => asksFor(id),
      answers: () => [{ results: [row("call_other"), row("", { metadata: null })] }],
      found: undefined,
    },
  ],
});

describeProvider({
  type: "ultravox",
  title: "ultravox through a SIP trunk",
  fields: { ...fields, through: "sip", sipHost: "example.pstn.twilio.com", sipUser: "caller" },
  secrets,
  requests: ({ id, request }) => [
    {
      path: `/api/agents/${agent}/calls`,
      headers,
      body: {
        templateContext: request.context,
        metadata: { call_id: id, attempt: "1" },
        medium: {
          sip: {
            outgoing: {
              to: `sip:${request.phone_number}@example.pstn.twilio.com`,
              from: "sip:+12025550100@example.pstn.twilio.com",
              username: "caller",
              password: "s3cret",
            },
          },
        },
      },
    },
  ],
  fixtures: [],
});

describe("ultravox", () => {
  const parsed = (more: object) =>
    parseRoute({ provider: "ultravox", ...fields, ...more }, { type: "ultravox" });

  it("needs a SIP password only where the trunk has a user", () => {
    const trunk = { through: "sip", sipHost: "example.com" };
    const names = [{}, trunk, { ...trunk, sipUser: "caller" }].map((more) => {
      const one = parsed(more);
      return "route" in one ? secretsOf(one.route, false) : [];
    });
    const key = "ULTRAVOX_API_KEY";
    expect(names).toEqual([[key], [key], [key, "ULTRAVOX_SIP_PASSWORD"]]);
  });

  it.each([
    [{ through: "sip" }],
    [{ sipHost: "example.com" }],
    [{ sipUser: "caller" }],
    [{ through: "sip", sipHost: "example.com/x" }],
    [{ through: "vonage" }],
  ])("is refused the route fields %j", (more) => {
    expect(parsed(more)).toHaveProperty("issues");
  });
});
