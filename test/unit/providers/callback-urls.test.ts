import { afterEach, describe, expect, it } from "vitest";
import { standInTypes } from "#infra/stand-ins/index.ts";
import { type Pair, startPair } from "#test/support/stand-ins.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const callbackUrl = "https://calls.example.com/callbacks/a/call_1/v1/0123456789abcdefghijkl";
let pair: Pair | undefined;
afterEach(async () => pair?.standIn.close());

/** Returns the request for a call as the stand-in of its provider, which knows the reference, has taken it. */
async function requestOf(
  type: string,
  options: { callbackUrl?: string; reportsAnswer?: boolean; maxCallMinutes?: number },
  fields: object = {},
) {
  pair = await startPair(type, { fields });
  expect(await pair.dial(options)).toMatchObject({ kind: "placed" });
  return pair.standIn.calls.placed[0]?.request;
}

/** Fields that give a provider the address, where its route says so or always. */
const given: [type: string, fields: object, expected: object][] = [
  ["twilio", {}, { StatusCallback: callbackUrl, StatusCallbackMethod: "POST" }],
  ["signalwire", {}, { StatusCallback: callbackUrl, StatusCallbackMethod: "POST" }],
  ["ultravox", {}, { callbacks: { ended: { url: callbackUrl } } }],
  ["exotel", {}, { StatusCallback: callbackUrl }],
  ["webhook", {}, { callback_url: callbackUrl }],
  [
    "telnyx",
    { callbacks: true },
    { webhook_urls: { "call.hangup": [callbackUrl] }, webhook_urls_method: "POST" },
  ],
  ["plivo", { callbacks: true }, { hangup_url: callbackUrl, hangup_method: "POST" }],
  ["vonage", { callbacks: true }, { event_url: [callbackUrl], event_method: "POST" }],
  ["retell", { callbacks: true }, { agent_override: { agent: { webhook_url: callbackUrl } } }],
];

/** The maximum duration of a call in each provider's words. */
const durations: [type: string, minutes: number, expected: object][] = [
  ["twilio", 30, { TimeLimit: "1800" }],
  ["signalwire", 30, { TimeLimit: "1800" }],
  ["telnyx", 30, { time_limit_secs: 1_800 }],
  ["vapi", 30, { assistantOverrides: { maxDurationSeconds: 1_800 } }],
  ["retell", 30, { agent_override: { agent: { max_call_duration_ms: 1_800_000 } } }],
  ["retell", 240, { agent_override: { agent: { max_call_duration_ms: 7_200_000 } } }],
  ["ultravox", 30, { maxDuration: "1800s" }],
  ["bland", 30, { max_duration: 30 }],
  ["livekit", 30, { max_call_duration: "1800s" }],
  ["vonage", 30, { length_timer: 1_800 }],
  ["vonage", 240, { length_timer: 7_200 }],
  ["plivo", 30, { time_limit: 1_800 }],
  ["exotel", 30, { TimeLimit: "1800" }],
];

describe("the maximum duration of a call", () => {
  it.each(durations)("goes to %s, %d minutes", async (type, maxCallMinutes, expected) => {
    expect(await requestOf(type, { maxCallMinutes })).toMatchObject(expected);
  });

  it.each([...standInTypes.keys()])(
    "is not named to %s where the plan has none",
    inSlowTier,
    async (type) => {
      const request = JSON.stringify(await requestOf(type, {}));
      expect(request).not.toMatch(/time_?limit|max_?(call_?)?duration|length_timer/i);
    },
  );
});

describe("the address for callbacks", () => {
  it.each(given)(
    "goes to %s with the route's fields %j",
    inSlowTier,
    async (type, fields, expected) => {
      const request = JSON.stringify(await requestOf(type, { callbackUrl }, fields));
      expect(JSON.parse(request)).toMatchObject(expected);
      expect(request.match(/calls\.example\.com/g)).toHaveLength(1);
      expect(request).not.toMatch(/"webhook_url":"[^"]*","webhook_urls"|StatusCallbackEvent/);
    },
  );

  it("has Twilio report the answer too, if a receiver gets it", async () => {
    const request = await requestOf("twilio", { callbackUrl, reportsAnswer: true });
    expect(request).toMatchObject({
      StatusCallback: callbackUrl,
      StatusCallbackEvent: ["answered", "completed"],
    });
  });

  it("has Exotel report answer and end, if a receiver gets the answer", async () => {
    const request = await requestOf("exotel", { callbackUrl, reportsAnswer: true });
    expect(request).toMatchObject({
      StatusCallback: callbackUrl,
      "StatusCallbackEvents[0]": "terminal",
      "StatusCallbackEvents[1]": "answered",
    });
  });

  const always = new Set(["exotel", "signalwire", "twilio", "ultravox", "webhook"]);
  const others = [...standInTypes.keys()].filter((type) => !always.has(type));
  it.each(others)(
    "does not go to %s if the route does not ask for callbacks",
    inSlowTier,
    async (type) => {
      expect(JSON.stringify(await requestOf(type, { callbackUrl }))).not.toContain(
        "example.com/call",
      );
    },
  );

  it.each(given)("is left out for %s %j where there is none", async (type, fields, expected) => {
    const request = await requestOf(type, {}, fields);
    for (const name of Object.keys(expected)) expect(request).not.toHaveProperty(name);
  });
});
