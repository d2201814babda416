import { describe, expect, it } from "vitest";
import { createProviders } from "#shared/providers/providers.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { toSipOutcome } from "#shared/providers/sip-status.ts";
import {
  createProviderBench,
  patientSeconds,
  saysNotPlaced,
} from "#test/contracts/provider-bench.ts";
import { describeProvider } from "#test/contracts/provider.ts";
import { aCall } from "#test/support/calls.ts";
import { elevenlabsAnswers, elevenlabsLookUps } from "#test/support/provider-answers/elevenlabs.ts";
import { elevenlabsResults } from "#test/support/provider-results/elevenlabs.ts";
import { routeOf } from "#test/support/test-adapter.ts";

const fields = { agent: "agent_9", from: "phnum_1" };
const headers = { "xi-api-key": "key_3", "content-type": "application/json" };
const through = (connection: "exotel" | "twilio" | "sip-trunk") => ({
  type: "elevenlabs",
  title: `elevenlabs through ${connection}`,
  fields: { ...fields, through: connection },
  secrets: { ELEVENLABS_API_KEY: "key_3" },
  requests: ({ id, request }: ReturnType<typeof aCall>) => [
    {
      path: `/v1/convai/${connection}/outbound-call`,
      headers,
      body: {
        agent_id: "agent_9",
        agent_phone_number_id: "phnum_1",
        to_number: request.phone_number,
        conversation_initiation_client_data: {
          dynamic_variables: request.context,
          user_id: id,
        },
        // Five seconds less than the time limit of the suite.
        ...(connection === "sip-trunk"
          ? { telephony_call_config: { ringing_timeout_secs: patientSeconds - 5 } }
          : {}),
      },
    },
  ],
  fixtures: elevenlabsAnswers,
  lookUps: elevenlabsLookUps,
});

describeProvider({ ...through("twilio"), results: elevenlabsResults });
describeProvider(through("exotel"));
describeProvider(through("sip-trunk"));

describe("elevenlabs", () => {
  it("refuses names of variables that are ElevenLabs' own", () => {
    const parsed = routeKinds.parseRoute(
      { account: "elevenlabs", ...fields, through: "twilio" },
      { provider: "elevenlabs" },
    );
    if ("issues" in parsed) throw new Error("the route was refused");
    const problemOf = (context: Record<string, string>) =>
      routeKinds.contextProblem({ ...aCall().request, context }, parsed.route);
    expect(problemOf({ system__caller_id: "x" })).toMatch(/^must not have a key that begins with/);
    expect(problemOf({ system: "x" })).toBeUndefined();
  });

  it("lets the phone ring for 5 s less than the provider may take to answer", async () => {
    const sent: string[] = [];
    const send: typeof fetch = async (_url, init) => {
      if (typeof init?.body === "string") sent.push(init.body);
      return Response.json({});
    };
    const route = routeOf("elevenlabs", { ...fields, through: "sip-trunk" });
    const options = { environment: {}, fetch: send, now: Date.now, print: () => undefined };
    const provider = createProviders(options, [])(route);
    for (const timeoutSeconds of [30, 90, 4]) {
      await provider.dial(
        { call: aCall(), attempt: 1, timeoutSeconds, guarded: (own) => own },
        route,
      );
    }
    expect(sent.map((text) => /"ringing_timeout_secs":(\d+)/.exec(text)?.[1])).toEqual([
      "25",
      "85",
      "1",
    ]);
  });

  it("takes only SIP statuses that never ring for surely not placed", async () => {
    const { dialAnswered } = createProviderBench(through("sip-trunk"));
    const notRung = new Set([401, 402, 404, 407, 410, 484, 604]);
    for (let status = 100; status <= 799; status++) {
      const message = `INVITE failed: sip status: ${status}: sip status: 404 (SIP 404)`;
      const body = { success: false, message, conversation_id: "conv_1" };
      const outcome = await dialAnswered(200, JSON.stringify(body));
      expect(outcome.kind).toBe(toSipOutcome(String(status)).kind);
      expect([status, saysNotPlaced(outcome)]).toEqual([status, notRung.has(status)]);
    }
  });

  it("takes the SIP status in an error before the HTTP status", async () => {
    const { dialAnswered } = createProviderBench(through("sip-trunk"));
    const busy = "INVITE failed: sip status: 486: Busy here";
    const open = "INVITE failed: sip status: 503: Service Unavailable";
    for (const status of [400, 404, 422, 429, 500]) {
      for (const detail of [busy, { code: "x", message: busy }]) {
        const outcome = await dialAnswered(status, JSON.stringify({ detail }));
        expect([status, outcome.kind]).toEqual([status, "placed"]);
      }
      const outcome = await dialAnswered(status, JSON.stringify({ detail: { message: open } }));
      expect(outcome).toEqual({ kind: "unknown", code: "sip_503" });
    }
  });
});
