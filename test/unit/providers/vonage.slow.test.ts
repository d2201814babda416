import { createPublicKey } from "node:crypto";
import { jwtVerify } from "jose";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { describeProvider, sought } from "#test/contracts/provider.ts";
import {
  aCallWith,
  contextProblemOf,
  routeOf,
  startTestAdapter,
} from "#test/support/test-adapter.ts";
import { aCall } from "#test/support/calls.ts";
import { base64, createPrivateKey } from "#test/support/private-key.ts";
import { vonageAnswers, vonageLookUps } from "#test/support/provider-answers/vonage.ts";
import { vonageResults } from "#test/support/provider-results/vonage.ts";
import { perTier } from "#test/support/per-tier.ts";
import { anyText } from "#test/support/any-character.ts";

const pem = createPrivateKey();
const secrets = { VONAGE_APPLICATION_ID: "app-1", VONAGE_PRIVATE_KEY: base64(pem) };
const stream = "wss://voice.example.com/calls";
const fields = { from: "+12025550100", stream };
const headers = {
  authorization: expect.stringMatching(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/),
  "content-type": "application/json",
};
const connectTo = (more: object, rate = "16000") => [
  {
    action: "connect",
    endpoint: [
      {
        type: "websocket",
        uri: stream,
        "content-type": `audio/l16;rate=${rate}`,
        headers: more,
      },
    ],
  },
];

/** Facts that the suites of both kinds of routes share. */
const vonage = (title: string, own: object, bodyOf: (call: Call) => object) => ({
  type: "vonage",
  title,
  fields: own,
  secrets,
  requests: (call: Call) => [
    {
      path: "/v1/calls",
      headers,
      body: {
        to: [{ type: "phone", number: call.request.phone_number.slice(1) }],
        from: { type: "phone", number: "12025550100" },
        ...bodyOf(call),
      },
    },
  ],
  fixtures: vonageAnswers,
});

describeProvider({
  ...vonage("vonage with a stream", fields, ({ id, request }) => ({
    ncco: connectTo({ ...request.context, call_id: id, agent_id: request.agent_id }),
  })),
  lookUps: vonageLookUps,
  results: vonageResults,
});

const answerUrl = "https://voice.example.com/ncco?of=a";
describeProvider(
  vonage(
    "vonage with an answer URL",
    { from: "+12025550100", answerUrl, ringSeconds: 20 },
    ({ id }) => ({ answer_url: [`${answerUrl}&call_id=${id}`], ringing_timer: 20 }),
  ),
);

describe("vonage", () => {
  const problemOf = (context: Record<string, string>, more: object = fields) =>
    contextProblemOf(context, routeOf("vonage", more));
  /** Starts a receiver and points an adapter at it. */
  const start = (environment: Record<string, string>, body: object = {}, more: object = {}) =>
    startTestAdapter("vonage", { ...fields, ...more }, environment, (_request, response) => {
      response.end(JSON.stringify(body));
    });
  const dialing = { call: aCall(), attempt: 1, timeoutSeconds: 2 };

  it("signs a new token of the application for each request", async () => {
    const { provider, route, received } = await start(secrets);
    for (let n = 0; n < 2; n++) await provider.dial({ ...dialing, guarded: (own) => own }, route);
    const tokens = received.map(({ headers: sent }) => sent.authorization?.slice(7) ?? "");
    const ids = new Set<unknown>();
    for (const token of tokens) {
      const { payload } = await jwtVerify(token, createPublicKey(pem), { algorithms: ["RS256"] });
      ids.add(payload.jti);
      const { iat = 0, exp = 0 } = payload;
      expect(payload["application_id"]).toBe("app-1");
      expect(iat).toBeLessThan(Date.now() / 1000 - 8);
      expect(exp - iat).toBe(610);
    }
    expect([tokens.length, ids.size]).toEqual([2, 2]);
  });

  it.each([
    ["no key", ""],
    ["another secret", "whsec_abcdef"],
    ["a key that is not in base64", pem],
    ["a key of another form", base64(pem.replaceAll("PRIVATE", "RSA PRIVATE"))],
  ])("refuses the account and sends nothing where it has %s", async (_, key) => {
    const { provider, route, received } = await start({ ...secrets, VONAGE_PRIVATE_KEY: key });
    const outcome = await provider.dial({ ...dialing, guarded: (own) => own }, route);
    expect(outcome).toEqual({ kind: "account_refused", code: "vonage_private_key" });
    await expect(
      provider.lookUp?.({ call: aCall(), attempt: 1, ...sought }, route),
    ).rejects.toThrow();
    expect(received).toEqual([]);
  });

  it("carries any context whole that it does not refuse, in at most 512 bytes", async () => {
    const { provider, route, received } = await start(secrets);
    const text = anyText(40);
    await fc.assert(
      fc.asyncProperty(fc.dictionary(text, text, { maxKeys: 6 }), async (context) => {
        fc.pre(!Object.hasOwn(context, "__proto__"));
        if (problemOf(context) !== undefined) return;
        const call = aCallWith(context);
        await provider.dial({ ...dialing, call, guarded: (own) => own }, route);
        const sent: unknown = JSON.parse(received.at(-1)?.text ?? "");
        const carried = { ...context, call_id: call.id, agent_id: call.request.agent_id };
        expect(sent).toHaveProperty("ncco", connectTo(carried));
        expect(Buffer.byteLength(JSON.stringify(carried))).toBeLessThanOrEqual(512);
      }),
      { numRuns: perTier({ quick: 10, long: 30 }) },
    );
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ["a key of the call's own", { call_id: "x" }, /^must not have the key call_id/],
    ["another", { agent_id: "x" }, /^must not have the key agent_id/],
    ["a key of Vonage's message", { event: "x" }, /^must not have the key event/],
    ["another of it", { "content-type": "x" }, /^must not have the key content-type/],
    ["more than 512 bytes", { name: "ü".repeat(220) }, /^is too large for Vonage: \d{3} bytes/],
  ])("refuses a context with %s", (_, context, problem) => {
    expect(problemOf(context)).toMatch(problem);
  });

  it("takes what just fits, and with an answer URL no context at all", () => {
    const { agent_id } = aCall().request;
    const own = { name: "", call_id: `call_${"0".repeat(32)}`, agent_id };
    const left = 512 - JSON.stringify(own).length;
    expect(problemOf({ name: "x".repeat(left) })).toBeUndefined();
    expect(problemOf({ name: "x".repeat(left + 1) })).toMatch(/513 bytes/);
    const answered = { from: "+12025550100", answerUrl: "https://voice.example.com/" };
    expect(problemOf({}, answered)).toBeUndefined();
    expect(problemOf({ name: "Ada" }, answered)).toMatch(/^must be empty: this agent's answerUrl/);
  });

  it("asks for the sample rate of the route", async () => {
    const { provider, route, received } = await start(secrets, {}, { sampleRate: "8000" });
    const { call } = dialing;
    await provider.dial({ ...dialing, guarded: (own) => own }, route);
    const { context, agent_id } = call.request;
    expect(JSON.parse(received[0]?.text ?? "")).toMatchObject({
      ncco: connectTo({ ...context, call_id: call.id, agent_id }, "8000"),
    });
  });

  it.each([
    [{ from: "+12025550100" }, /^must have either stream or answerUrl$/],
    [{ ...fields, answerUrl: "https://voice.example.com/" }, /^must have either stream/],
    [{ ...fields, stream: "https://voice.example.com/" }, /^must be a wss:\/\/ URL$/],
    [{ ...fields, stream: `${stream}?x=1` }, /^must not have a query/],
    [{ from: "+12025550100", answerUrl: "http://localhost/" }, /^must be an https URL/],
    [{ ...fields, from: "phone_1" }, /^must be an E.164 number$/],
    [{ ...fields, sampleRate: "44100" }, /^must be one of /],
    [{ ...fields, ringSeconds: 121 }, /^must be at most /],
  ])("refuses the route %j", (more, problem) => {
    expect(() => routeOf("vonage", more)).toThrow(problem);
  });

  it("stops reading an endless list", async () => {
    const body = {
      _links: { next: { href: "/v1/calls?record_index=0" } },
      _embedded: { calls: [] },
    };
    const { provider, route, received } = await start(secrets, body);
    const found = provider.lookUp?.({ call: aCall(), attempt: 1, ...sought }, route);
    await expect(found).rejects.toThrow("too long");
    expect(received).toHaveLength(18);
  });
});
