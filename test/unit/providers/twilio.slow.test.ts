import { DOMParser } from "@xmldom/xmldom";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { describeProvider, sought } from "#test/contracts/provider.ts";
import {
  aCallWith,
  adapterOf,
  contextProblemOf,
  routeOf,
  startTestAdapter,
} from "#test/support/test-adapter.ts";
import { startTestReceiver } from "#test/support/test-receiver.ts";
import { aCall } from "#test/support/calls.ts";
import { next, page, twilioAnswers, twilioLookUps } from "#test/support/provider-answers/twilio.ts";
import { twilioResults } from "#test/support/provider-results/twilio.ts";
import { perTier } from "#test/support/per-tier.ts";
import { anyText } from "#test/support/any-character.ts";

const secrets = { TWILIO_ACCOUNT_SID: "AC1", TWILIO_AUTH_TOKEN: "token_5" };
const stream = "wss://voice.example.com/calls";
const fields = { from: "+12025550100", stream };
const headers = { authorization: `Basic ${Buffer.from("AC1:token_5").toString("base64")}` };
const calls = "/2010-04-01/Accounts/AC1/Calls.json";

/** Returns the stream's URL and its parameters, as read by an XML parser. */
function readTwiml(twiml: string) {
  const document = new DOMParser({
    // A warning tells of U+FFFD, which a text may hold.
    onError: (level, message) => {
      if (level !== "warning") throw new Error(message);
    },
  }).parseFromString(twiml, "text/xml");
  const [element] = document.getElementsByTagName("Stream");
  const parameters = [...document.getElementsByTagName("Parameter")].map((one) => [
    one.getAttribute("name"),
    one.getAttribute("value"),
  ]);
  const path = [element?.parentNode?.parentNode, element?.parentNode, element];
  return {
    path: path.map((node) => node?.nodeName).join("/"),
    url: element?.getAttribute("url"),
    parameters: Object.fromEntries(parameters),
  };
}

const read = (text: string): unknown => {
  const { Twiml, ...form } = Object.fromEntries(new URLSearchParams(text));
  return Twiml === undefined ? form : { ...form, twiml: readTwiml(Twiml) };
};

/** Facts that the suites of both kinds of routes share. */
const twilio = (title: string, own: object, formOf: (call: Call) => object) => ({
  type: "twilio",
  title,
  fields: own,
  secrets,
  read,
  requests: (call: Call) => [
    {
      path: calls,
      headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
      body: { To: call.request.phone_number, From: "+12025550100", ...formOf(call) },
    },
  ],
  fixtures: twilioAnswers,
});

describeProvider({
  ...twilio("twilio with a stream", fields, ({ id, request }) => ({
    twiml: {
      path: "Response/Connect/Stream",
      url: stream,
      parameters: { ...request.context, call_id: id, agent_id: request.agent_id },
    },
  })),
  lookUps: twilioLookUps,
  results: twilioResults,
});

const callReason = "Your appointment on Monday";
describeProvider(
  twilio(
    "twilio with an answer URL",
    {
      from: "+12025550100",
      answerUrl: "https://voice.example.com/twiml?of=a%20b",
      machineDetection: "DetectMessageEnd",
      ringSeconds: 20,
      callReason,
    },
    ({ id }) => ({
      Url: `https://voice.example.com/twiml?of=a+b&call_id=${id}`,
      MachineDetection: "DetectMessageEnd",
      Timeout: "20",
      CallReason: callReason,
    }),
  ),
);

describe("twilio", () => {
  const problemOf = (context: Record<string, string>, more: object = fields) =>
    contextProblemOf(context, routeOf("twilio", more));
  /** Dials a receiver. Resolves to the request that it got. */
  async function sentOf(context: Record<string, string>, more: object = {}) {
    const of = { ...fields, ...more };
    const { provider, route, received } = await startTestAdapter(
      "twilio",
      of,
      secrets,
      (_request, response) => response.end("{}"),
    );
    const call = aCallWith(context);
    await provider.dial({ call, attempt: 1, timeoutSeconds: 2, guarded: (own) => own }, route);
    return { call, received: received[0] };
  }

  it("carries any context whole that it does not refuse, in at most 4,000 characters", async () => {
    const text = anyText(60);
    await fc.assert(
      fc.asyncProperty(fc.dictionary(text, text, { maxKeys: 12 }), async (context) => {
        fc.pre(!Object.hasOwn(context, "__proto__"));
        if (problemOf(context) !== undefined) return;
        const { call, received } = await sentOf(context);
        const twiml = new URLSearchParams(received?.text).get("Twiml") ?? "";
        expect(twiml.length).toBeLessThanOrEqual(4000);
        expect(readTwiml(twiml).parameters).toEqual({
          ...context,
          call_id: call.id,
          agent_id: call.request.agent_id,
        });
      }),
      { numRuns: perTier({ quick: 20, long: 60 }) },
    );
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ["an empty key", { "": "x" }, /^must not have an empty key/],
    ["a key of the call's own", { call_id: "x" }, /^must not have the key call_id/],
    ["another", { agent_id: "x" }, /^must not have the key agent_id/],
    ["a control character", { name: "a\u0000b" }, /^must not have control characters/],
    ["one in a key", { "a\u000bb": "x" }, /^must not have control characters/],
    ["500 characters in one", { name: "x".repeat(496) }, /of less than 500 characters together/],
    [
      "more than 4,000 in all",
      Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`name_${n}`, "x".repeat(400)])),
      /^is too large for Twilio: \d{4} characters as TwiML, at most 4000$/,
    ],
    [
      "more than 4,000 once escaped",
      Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`name_${n}`, "&".repeat(100)])),
      /^is too large for Twilio/,
    ],
  ])("refuses a context with %s", (_, context, problem) => {
    expect(problemOf(context)).toMatch(problem);
  });

  it("takes what just fits, and with an answer URL no context at all", () => {
    expect(problemOf({ name: "x".repeat(495) })).toBeUndefined();
    expect(problemOf({ tab: "\t\r\n", emoji: "😀" })).toBeUndefined();
    const answered = { from: "+12025550100", answerUrl: "https://voice.example.com/" };
    expect(problemOf({}, answered)).toBeUndefined();
    expect(problemOf({ name: "Ada" }, answered)).toMatch(/^must be empty: this agent's answerUrl/);
  });

  it.each([
    [{ from: "+12025550100" }, /^must have either stream or answerUrl$/],
    [{ ...fields, answerUrl: "https://voice.example.com/" }, /^must have either stream/],
    [{ ...fields, stream: "https://voice.example.com/" }, /^must be a wss:\/\/ URL$/],
    [{ ...fields, stream: `${stream}?x=1` }, /^must not have a query/],
    [{ ...fields, stream: `${stream}#x` }, /^must not have a query, a fragment or a user/],
    [{ ...fields, stream: `${stream}/${"x".repeat(500)}` }, /^must be at most 500 characters/],
    [{ from: "+12025550100", answerUrl: "http://localhost/" }, /^must be an https URL/],
    [{ ...fields, apiKey: "AC1" }, /^must be the SID of an API key$/],
    [{ ...fields, from: "phone_1" }, /^must be an E.164 number$/],
    [{ ...fields, ringSeconds: 0 }, /^must be at least /],
    [{ ...fields, ringSeconds: 601 }, /^must be at most /],
    [{ ...fields, machineDetection: "premium" }, /^must be one of /],
    [{ ...fields, callReason: "" }, /^must be 1 to 50 printable ASCII characters$/],
    [{ ...fields, callReason: "x".repeat(51) }, /^must be 1 to 50 printable ASCII/],
    [{ ...fields, callReason: "Grüße" }, /^must be 1 to 50 printable ASCII/],
    [{ ...fields, callReason: "a\u0000b" }, /^must be 1 to 50 printable ASCII/],
  ])("refuses the route %j", (more, problem) => {
    expect(() => routeOf("twilio", more)).toThrow(problem);
  });

  it("authenticates by an API key where one is named", async () => {
    const { received } = await sentOf({}, { apiKey: "SK1" });
    const credentials = Buffer.from("SK1:token_5").toString("base64");
    expect(received?.headers.authorization).toBe(`Basic ${credentials}`);
    expect(received?.path).toBe(calls);
  });

  it("reads the next page below a base address with a path, wherever its own address begins", async () => {
    const first = page([], `/api/laml${next}`);
    const receiver = await startTestReceiver((request, response) => {
      response.end(JSON.stringify(request.path.includes("PageToken") ? page([]) : first));
    });
    const at = routeOf("twilio", fields, `${receiver.url}/api/laml`);
    const { provider, route } = adapterOf(at, secrets);
    await provider.lookUp?.({ call: aCall(), attempt: 1, ...sought }, route);
    const paths = receiver.received.map((request) => request.path.split("?")[0]);
    expect(paths).toEqual(Array.from({ length: 4 }, () => `/api/laml${calls}`));
    const listed = page([], calls);
    const another = await startTestReceiver((_request, response) => {
      response.end(JSON.stringify(listed));
    });
    const looked = provider.lookUp?.(
      { call: aCall(), attempt: 1, ...sought },
      routeOf("twilio", fields, another.url),
    );
    await expect(looked).rejects.toThrow("the next page has no query");
  });

  it("stops reading an endless list", async () => {
    const { provider, route, received } = await startTestAdapter(
      "twilio",
      fields,
      secrets,
      (_request, response) => response.end(JSON.stringify(page([], next))),
    );
    const found = provider.lookUp?.({ call: aCall(), attempt: 1, ...sought }, route);
    await expect(found).rejects.toThrow("too long");
    expect(received).toHaveLength(10);
  });
});
