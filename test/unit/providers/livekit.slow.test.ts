import { jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import { splitTime } from "#shared/providers/livekit-agent.ts";
import {
  createProviderBench,
  type ProviderUnderTest,
  saysNotPlaced,
} from "#test/contracts/provider-bench.ts";
import { describeProvider } from "#test/contracts/provider.ts";
import { startTestAdapter } from "#test/support/test-adapter.ts";
import { aCall } from "#test/support/calls.ts";
import { livekitAnswers, livekitDispatchAnswers } from "#test/support/provider-answers/livekit.ts";
import { livekitLookUps } from "#test/support/provider-answers/livekit-look-ups.ts";
import type { startTestReceiver } from "#test/support/test-receiver.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const secrets = {
  LIVEKIT_API_KEY: "APIkey",
  LIVEKIT_API_SECRET: "secret of thirty-two characters!",
};
const fields = { agent: "caller", trunk: "ST_9" };
const headers = {
  authorization: expect.stringMatching(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/),
  "content-type": "application/json",
};

/** One answer to the dispatch and to the look at the agent. */
const agentThere = {
  id: "AD_1",
  agent_dispatches: [{ id: "AD_1", state: { jobs: [{ id: "AJ_1", state: { status: 1 } }] } }],
};

const underTest: ProviderUnderTest = {
  type: "livekit",
  fields,
  secrets,
  firstAnswer: agentThere,
  read: (text) => {
    const { metadata, ...body }: { metadata?: string } = JSON.parse(text);
    return metadata === undefined ? body : { ...body, metadata: JSON.parse(metadata) };
  },
  requests: ({ id, request }) => [
    {
      path: "/twirp/livekit.AgentDispatchService/CreateDispatch",
      headers: { ...headers, "x-livekit-request-id": `${id}-1-dispatch` },
      body: {
        agent_name: "caller",
        room: `${id}-1`,
        metadata: { call_id: id, agent_id: request.agent_id, context: request.context },
      },
    },
    {
      path: "/twirp/livekit.AgentDispatchService/ListDispatch",
      headers,
      body: { room: `${id}-1` },
    },
    {
      path: "/twirp/livekit.SIP/CreateSIPParticipant",
      headers: { ...headers, "x-livekit-request-id": `${id}-1-call` },
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
  fixtures: livekitAnswers,
  lookUps: livekitLookUps,
  namesNoCall: true, // the room does
};
describeProvider(underTest);

describe("livekit", () => {
  async function dial(
    answer: Parameters<typeof startTestReceiver>[0],
    { attempt = 1, timeoutSeconds = 3 } = {},
  ) {
    const { provider, route, received } = await startTestAdapter(
      "livekit",
      fields,
      secrets,
      answer,
    );
    const outcome = await provider.dial(
      { call: aCall(), attempt, timeoutSeconds, guarded: (own) => own },
      route,
    );
    return { outcome, received };
  }

  it("finds nothing in a room that has ended", async () => {
    const body = { code: "not_found", msg: "requested room does not exist" };
    const { provider, route } = await startTestAdapter(
      "livekit",
      fields,
      secrets,
      (_request, response) => response.writeHead(404).end(JSON.stringify(body)),
    );
    const sought = { call: aCall(), attempt: 1, from: 0, until: 1 };
    expect(await provider.lookUp?.(sought, route)).toBeUndefined();
  });

  it("signs each request with a token that permits that alone, for a short time", async () => {
    const { received } = await dial((_request, response) =>
      response.end(JSON.stringify({ ...agentThere, sip_call_id: "SCL_1" })),
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
      { iss: "APIkey", video: { roomAdmin: true, roomCreate: true, room } },
      { iss: "APIkey", video: { roomAdmin: true, room } },
      { iss: "APIkey", sip: { call: true } },
    ]);
    expect(claims[1]?.["video"]).not.toHaveProperty("roomCreate");
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
    const answer = JSON.stringify(agentThere);
    const { received } = await dial((_request, response) => response.end(answer), { attempt: 2 });
    expect(
      received.map(({ text }) => /"(?:room|room_name)":"call_\w+-(\d)"/.exec(text)?.[1]),
    ).toEqual(["2", "2", "2"]);
  });

  it.each(livekitDispatchAnswers)(
    "reads $status of $page $says as $outcome, and calls nobody",
    async ({ status, body, outcome }) => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const dialed = await dial((_request, response) =>
        response.writeHead(status, { location: "/elsewhere" }).end(text),
      );
      expect(dialed.outcome).toEqual(outcome);
      expect(dialed.received).toHaveLength(1);
    },
  );

  /** Dials a LiveKit whose lists give these answers in turn, the last one for ever. */
  async function dialSeeing(
    answers: ({ status?: number; body: object } | undefined)[],
    timeoutSeconds = 4,
  ) {
    let looks = 0;
    const dialed = await dial(
      ({ path }, response) => {
        if (!path.includes("/List")) {
          response.end('{"id":"AD_1","sip_call_id":"SCL_1"}');
          return;
        }
        const answer = answers[Math.min(looks++, answers.length - 1)];
        if (answer === undefined) return; // hangs
        response.writeHead(answer.status ?? 200).end(JSON.stringify(answer.body));
      },
      { timeoutSeconds },
    );
    const called = dialed.received.filter(({ path }) => path.endsWith("CreateSIPParticipant"));
    return { outcome: dialed.outcome, called: called.length };
  }
  const nobody = { body: { agent_dispatches: [{ id: "AD_1", state: { jobs: [] } }] } };
  const jobOf = (state?: object) => ({
    body: { agentDispatches: [{ id: "AD_1", state: { jobs: [{ id: "AJ_1", state }] } }] },
  });
  const inRoom = (kind: string | number) => ({
    body: { participants: [{ sid: "PA_0", identity: "agent-AJ_1", kind }] },
  });
  const placed = { outcome: { kind: "placed", providerCallId: "SCL_1" }, called: 1 };

  it.each([
    ["a running job", [jobOf({ status: "JS_RUNNING" })]],
    ["a job whose state is the default", [jobOf()]],
    ["a pending job", [jobOf({ status: 0 })]],
    ["a job on the second look", [nobody, { body: {} }, jobOf({ status: 1 })]],
    ["an agent in the room", [nobody, inRoom("AGENT")]],
    ["an agent in the room, by number", [{ body: {} }, inRoom(4)]],
    ["a job after a look that failed", [{ status: 500, body: {} }, jobOf({ status: 1 })]],
  ])("calls once it has seen %s", async (_, answers) => {
    expect(await dialSeeing(answers)).toEqual(placed);
  });

  it("calls nobody where it sees no agent, and blames the route", inSlowTier, async () => {
    const seen = [
      [nobody, { body: {} }],
      [jobOf({ status: "JS_FAILED" }), { body: {} }],
      [jobOf({ status: 2 }), inRoom("STANDARD")],
    ];
    // At once, as each waits for the agent's time to be over. The last look has 1.5 s of it.
    const dialed = seen.map((answers) =>
      dialSeeing(Array.from({ length: 8 }, () => answers).flat(), 6),
    );
    const outcome = { kind: "route_refused", code: "agent_absent", isAbsent: true };
    expect(await Promise.all(dialed)).toEqual(seen.map(() => ({ outcome, called: 0 })));
  });

  it(
    "calls nobody where the look at the agent fails, cannot be read or hangs, and tries later",
    inSlowTier,
    async () => {
      const answers = [
        { status: 503, body: { code: "unavailable", msg: "…" } },
        { body: { agent_dispatches: "none" } },
        undefined,
      ];
      const dialed = answers.map((answer) => dialSeeing([answer]));
      const outcome = { kind: "not_placed", code: "agent_unseen" };
      expect(await Promise.all(dialed)).toEqual(answers.map(() => ({ outcome, called: 0 })));
    },
  );

  it("answers within its time limit, however slow each request is", inSlowTier, async () => {
    const { outcome } = await dial(
      ({ path }, response) => {
        // The request that dials is never answered.
        if (path.endsWith("CreateSIPParticipant")) return;
        setTimeout(() => response.end(JSON.stringify(agentThere)), 200);
      },
      { timeoutSeconds: 5 },
    );
    expect(outcome).toEqual({ kind: "unknown", code: "time_out" });
  });

  it("waits for an agent that joins after 6 s", inSlowTier, async () => {
    const startedAt = performance.now();
    const { outcome, received } = await dial(
      ({ path }, response) => {
        const hasJoined = performance.now() - startedAt > 6_000;
        const isLook = path.includes("/List");
        response.end(
          JSON.stringify(isLook && !hasJoined ? {} : { ...agentThere, sip_call_id: "S" }),
        );
      },
      { timeoutSeconds: 30 },
    );
    expect(outcome).toEqual({ kind: "placed", providerCallId: "S" });
    expect(received.length).toBeLessThan(25);
  });

  it.each([
    [45, 20, { dispatch: 8.333, agent: 20, call: 16.667 }],
    [30, 20, { dispatch: 3.333, agent: 20, call: 6.667 }],
    [90, 60, { dispatch: 10, agent: 60, call: 20 }],
    [3, 20, { dispatch: 0.333, agent: 2, call: 0.667 }],
  ])(
    "splits a time limit of %i s, with %i s for the agent",
    (timeoutSeconds, agentWaitSeconds, expected) => {
      expect(splitTime(timeoutSeconds, agentWaitSeconds)).toEqual(expected);
    },
  );

  it("takes only SIP statuses that never ring for surely not placed", async () => {
    const { dialAnswered } = createProviderBench(underTest);
    const notRung = new Set([401, 402, 404, 407, 410, 484, 604]);
    const code = "resource_exhausted";
    for (let sip = 100; sip <= 799; sip++) {
      const meta = { sip_status_code: String(sip) };
      const body = JSON.stringify({ code, msg: "…", meta });
      const outcome = await dialAnswered(404, body);
      expect([sip, saysNotPlaced(outcome)]).toEqual([sip, notRung.has(sip)]);
      expect(saysNotPlaced(await dialAnswered(409, body))).toBe(false);
    }
  });
});
