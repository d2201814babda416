import { afterEach, describe, expect, it } from "vitest";
import { standInTypes } from "../../../infra/stand-ins/index.ts";
import { type Pair, startPair } from "../../support/stand-ins.ts";

const callbackUrl = "https://calls.example.com/callbacks/a/call_1/v1/0123456789abcdefghijkl";
let pair: Pair | undefined;
afterEach(async () => pair?.standIn.close());

/** Returns the request for a call as the stand-in of its provider, which knows the reference, has taken it. */
async function requestOf(
  type: string,
  options: { callbackUrl?: string; tellsAnswer?: boolean },
  fields: object = {},
) {
  pair = await startPair(type, { fields });
  expect(await pair.dial(options)).toMatchObject({ kind: "placed" });
  return pair.standIn.calls.placed[0]?.request;
}

/** Fields that give a provider the address, where its route says so or always. */
const given: [type: string, fields: object, expected: object][] = [
  ["twilio", {}, { StatusCallback: callbackUrl, StatusCallbackMethod: "POST" }],
  ["ultravox", {}, { callbacks: { ended: { url: callbackUrl } } }],
  ["webhook", {}, { callback_url: callbackUrl }],
  [
    "telnyx",
    { callbacks: true },
    { webhook_urls: { "call.hangup": callbackUrl }, webhook_urls_method: "POST" },
  ],
  ["retell", { callbacks: true }, { agent_override: { agent: { webhook_url: callbackUrl } } }],
];

describe("the address for callbacks", () => {
  it.each(given)("goes to %s with the route's fields %j", async (type, fields, expected) => {
    const request = JSON.stringify(await requestOf(type, { callbackUrl }, fields));
    expect(JSON.parse(request)).toMatchObject(expected);
    expect(request.match(/calls\.example\.com/g)).toHaveLength(1);
    expect(request).not.toMatch(/"webhook_url":"[^"]*","webhook_urls"|StatusCallbackEvent/);
  });

  it("has Twilio tell of the answer, too, where somebody is told of it", async () => {
    const request = await requestOf("twilio", { callbackUrl, tellsAnswer: true });
    expect(request).toMatchObject({
      StatusCallback: callbackUrl,
      StatusCallbackEvent: ["answered", "completed"],
    });
  });

  const always = new Set(["twilio", "ultravox", "webhook"]);
  const others = [...standInTypes.keys()].filter((type) => !always.has(type));
  it.each(others)("takes nothing from anybody: it does not go to %s unasked", async (type) => {
    expect(JSON.stringify(await requestOf(type, { callbackUrl }))).not.toContain(
      "example.com/call",
    );
  });

  it.each(given)("is left out for %s %j where there is none", async (type, fields, expected) => {
    const request = await requestOf(type, {}, fields);
    for (const name of Object.keys(expected)) expect(request).not.toHaveProperty(name);
  });
});
