import { jwtVerify } from "jose";
import { afterEach, describe, expect, it } from "vitest";
import type { DialOutcome } from "../../../shared/providers/dialing-provider.ts";
import { createProviders, parseRoute } from "../../../shared/providers/index.ts";
import { describeProvider } from "../../contracts/provider.ts";
import { aCall } from "../../support/calls.ts";
import { startReceiver } from "../../support/receiver.ts";

const secrets = {
  LIVEKIT_API_KEY: "APIkey",
  LIVEKIT_API_SECRET: "secret of thirty-two characters!",
};
const fields = { agent: "caller", trunk: "ST_9" };
const headers = {
  authorization: expect.stringMatching(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/),
  "content-type": "application/json",
};

/** Error answers as made by livekit/protocol (twirp errors; sip.go for those with a SIP status). */
const error = (status: number, code: string, outcome: DialOutcome, sip?: string) => ({
  page: `github.com/livekit/protocol: ${code} ${sip ?? ""}`,
  status,
  body: {
    code,
    msg: "…",
    ...(sip === undefined ? {} : { meta: { sip_status_code: sip, sip_status: "…" } }),
  },
  outcome,
});
const placed = { kind: "placed" } as const;

describeProvider({
  type: "livekit",
  fields,
  secrets,
  firstAnswer: { id: "AD_1", agentName: "caller", room: "…", metadata: "…" },
  read: (text) => {
    const { metadata, ...body }: { metadata?: string } = JSON.parse(text);
    return metadata === undefined ? body : { ...body, metadata: JSON.parse(metadata) };
  },
  requests: ({ id, request }) => [
    {
      path: "/twirp/livekit.AgentDispatchService/CreateDispatch",
      headers,
      body: {
        agent_name: "caller",
        room: `${id}-1`,
        metadata: { call_id: id, agent_id: request.agent_id, context: request.context },
      },
    },
    {
      path: "/twirp/livekit.SIP/CreateSIPParticipant",
      headers,
      body: {
        sip_trunk_id: "ST_9",
        sip_call_to: request.phone_number,
        room_name: `${id}-1`,
        participant_identity: "callee",
        participant_attributes: { call_id: id },
        hide_phone_number: true,
      },
    },
  ],
  fixtures: [
    {
      page: "docs.livekit.io/reference/telephony/sip-api: SIPParticipantInfo",
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
      page: "the same, in the other spelling",
      status: 200,
      body: { participantId: "PA_1", sipCallId: "SCL_2" },
      outcome: { kind: "placed", providerCallId: "SCL_2" },
    },
    error(429, "resource_exhausted", placed, "486"),
    error(403, "permission_denied", placed, "603"),
    error(404, "not_found", { kind: "rejected", code: "sip_404" }, "404"),
    error(401, "unauthenticated", { kind: "account_refused", code: "sip_407" }, "407"),
    error(403, "permission_denied", { kind: "forbidden", code: "sip_403" }, "403"),
    error(412, "failed_precondition", { kind: "unknown", code: "sip_503" }, "503"),
    {
      page: "the same, with the SIP status as a number",
      status: 429,
      body: { code: "resource_exhausted", msg: "…", meta: { sip_status_code: 486 } },
      outcome: placed,
    },
    {
      page: "the same, with the SIP status in the message alone",
      status: 429,
      body: { code: "resource_exhausted", msg: "sip status 486: Busy Here" },
      outcome: { kind: "unknown", code: "sip" },
    },
    error(429, "resource_exhausted", { kind: "not_placed", code: "livekit_resource_exhausted" }),
    error(401, "unauthenticated", { kind: "account_refused", code: "livekit_unauthenticated" }),
    error(403, "permission_denied", { kind: "account_refused", code: "livekit_permission_denied" }),
    error(400, "invalid_argument", { kind: "rejected", code: "livekit_invalid_argument" }),
    error(404, "not_found", { kind: "rejected", code: "livekit_not_found" }),
    error(408, "deadline_exceeded", { kind: "unknown", code: "livekit_deadline_exceeded" }),
    error(503, "unavailable", { kind: "unknown", code: "livekit_unavailable" }),
    error(409, "already_exists", { kind: "unknown", code: "livekit_already_exists" }),
  ],
  lookUps: [
    {
      page: "github.com/livekit/protocol: ListParticipantsResponse",
      asks: ({ id }) => [
        {
          path: "/twirp/livekit.RoomService/ListParticipants",
          headers,
          body: { room: `${id}-1` },
        },
      ],
      answers: () => [
        {
          participants: [
            { sid: "PA_0", identity: "agent-AJ_1", state: "ACTIVE" },
            {
              sid: "PA_1",
              identity: "callee",
              state: "ACTIVE",
              attributes: { "sip.callID": "SCL_1", "sip.callStatus": "ringing", "sip.x": "" },
            },
          ],
        },
      ],
      found: { by: "id", providerCallId: "SCL_1" },
    },
    {
      page: "the same, where nobody but the agent is there",
      asks: ({ id }) => [
        {
          path: "/twirp/livekit.RoomService/ListParticipants",
          headers,
          body: { room: `${id}-1` },
        },
      ],
      answers: () => [{ participants: [{ sid: "PA_0", identity: "agent-AJ_1" }] }],
      found: undefined,
    },
  ],
});

describe("livekit", () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });
  function providerAt(baseUrl: string) {
    const parsed = parseRoute({ provider: "livekit", ...fields }, { type: "livekit", baseUrl });
    if ("issues" in parsed) throw new Error("the route was refused");
    const options = { environment: secrets, fetch, now: Date.now, print: () => undefined };
    const { route } = parsed;
    return { provider: createProviders(options, [route])(route), route };
  }
  async function dial(
    answer: Parameters<typeof startReceiver>[0],
    { attempt = 1, timeoutSeconds = 3 } = {},
  ) {
    const receiver = await startReceiver(answer);
    closing.push(receiver.close);
    const { provider, route } = providerAt(receiver.url);
    const outcome = await provider.dial({ call: aCall(), attempt, timeoutSeconds }, route);
    return { outcome, received: receiver.received };
  }

  it("finds nothing in a room that has ended", async () => {
    const receiver = await startReceiver((_request, response) => {
      const body = { code: "not_found", msg: "requested room does not exist" };
      response.writeHead(404).end(JSON.stringify(body));
    });
    closing.push(receiver.close);
    const { provider, route } = providerAt(receiver.url);
    const sought = { call: aCall(), attempt: 1, from: 0, until: 1 };
    expect(await provider.lookUp?.(sought, route)).toBeUndefined();
  });

  it("signs each request with a token that permits that alone, for a short time", async () => {
    const { received } = await dial((_request, response) =>
      response.end('{"id":"AD_1","sip_call_id":"SCL_1"}'),
    );
    const key = new TextEncoder().encode(secrets.LIVEKIT_API_SECRET);
    const claims = await Promise.all(
      received.map(async ({ headers: { authorization = "" } }) => {
        const verified = await jwtVerify(authorization.replace("Bearer ", ""), key);
        return verified.payload;
      }),
    );
    const { room }: { room: string } = JSON.parse(received[0]?.text ?? "");
    expect(claims).toMatchObject([
      { iss: "APIkey", video: { roomAdmin: true, room } },
      { iss: "APIkey", sip: { call: true } },
    ]);
    for (const { exp = 0, nbf = 0, ...grants } of claims) {
      expect(exp - nbf).toBeLessThanOrEqual(610);
      expect(Object.keys(grants)).toHaveLength(2);
    }
  });

  it("calls nobody where the agent could not be sent, and says that nobody was called", async () => {
    const answering = (status: number, body: object) =>
      dial((_request, response) => response.writeHead(status).end(JSON.stringify(body)));
    const broken = await answering(500, {});
    const refused = await answering(401, { code: "unauthenticated", msg: "…" });
    const unreadable = await answering(200, {});
    const hanging = await dial(() => undefined, { timeoutSeconds: 1 });
    expect([broken, refused, unreadable, hanging].map(({ outcome }) => outcome)).toEqual([
      { kind: "not_placed", code: "dispatch_http_500" },
      { kind: "account_refused", code: "livekit_unauthenticated" },
      { kind: "not_placed", code: "dispatch_answer_unreadable" },
      { kind: "not_placed", code: "dispatch_time_out" },
    ]);
    for (const { received } of [broken, refused, unreadable, hanging]) {
      expect(received).toHaveLength(1);
    }
  });

  it("has a room of its own for every attempt", async () => {
    const { received } = await dial((_request, response) => response.end('{"id":"AD_1"}'), {
      attempt: 2,
    });
    expect(
      received.map(({ text }) => /"(?:room|room_name)":"call_\w+-(\d)"/.exec(text)?.[1]),
    ).toEqual(["2", "2"]);
  });
});
