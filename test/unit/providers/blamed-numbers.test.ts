import { expect, it } from "vitest";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { providerTypes } from "#shared/calls/provider-types.ts";
import { answersOfProviders } from "#test/support/provider-answers/index.ts";
import { signalwireAsTwilio } from "#test/support/provider-answers/signalwire.ts";

const blames = (outcome: DialOutcome) =>
  (outcome.kind === "rejected" || outcome.kind === "not_placed") && outcome.blamesNumber === true;

/** Codes that blame a number among a provider's answers, which the provider's own tests hold the adapter to. */
function blamed(name: string): string[] {
  const { answers = [] } = answersOfProviders[name] ?? {};
  const all = name === "SignalWire" ? [...answers, ...signalwireAsTwilio] : answers;
  const codes = all.flatMap(({ outcome }) =>
    blames(outcome) && "code" in outcome ? [outcome.code] : [],
  );
  return [...new Set(codes)].toSorted();
}

/** All codes that are about the number alone, by the providers' references. */
const expected: Record<string, string[]> = {
  "Amazon Connect": ["connect_invalid_parameter"], // where its message names the number
  Bland: ["bland_blacklisted", "bland_same_number"],
  ElevenLabs: ["http_422", "sip_404", "sip_410"], // 422 where it points at `to_number`
  Exotel: ["exotel_ndnc"],
  LiveKit: ["sip_404", "sip_410", "sip_484", "sip_604"],
  Plivo: [], // 400 stands for every parameter, in a wording that is not published
  Retell: ["http_422"], // where its text names `to_number` alone
  SignalWire: [21202, 21211, 21214, 21217, 573002, 573005].map((code) => `signalwire_${code}`),
  Telnyx: [
    "telnyx_10016", // where it points at `to`
    ...[11, 14, 24, 37, 39, 41, 50, 53, 58, 59, 9].map((code) => `telnyx_d${code}`),
  ],
  Twilio: [21202, 21211, 21214, 21217, 573002, 573005].map((code) => `twilio_${code}`),
  Ultravox: [], // its bodies are not published
  Vapi: ["http_400"], // where its text is about the customer's number
  Vonage: ["vonage_to"],
  Webhook: [], // a status alone
};

it("lists every type of account that is somebody else's", () => {
  expect(Object.keys(expected).toSorted()).toEqual(Object.keys(answersOfProviders).toSorted());
  // The sandbox and the simulator are this service's own.
  expect(Object.keys(expected)).toHaveLength(providerTypes.length - 2);
});

it.each(Object.entries(expected))(
  "blames the number only for these codes of %s: %j",
  (name, codes) => {
    expect(blamed(name)).toEqual(codes);
  },
);
