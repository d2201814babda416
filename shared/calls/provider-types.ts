/**
 * The kinds of dialing provider (shared/providers/list.ts). Whoever parses a row or a dial plan knows their names alone: what a
 * kind can do, the entries hand in (`RouteKinds`).
 */
export const providerTypes = [
  "amazon-connect",
  "bland",
  "elevenlabs",
  "exotel",
  "livekit",
  "plivo",
  "retell",
  "sandbox",
  "signalwire",
  "simulator",
  "telnyx",
  "twilio",
  "ultravox",
  "vapi",
  "vonage",
  "webhook",
] as const;

/** A kind of dialing provider. */
export type ProviderType = (typeof providerTypes)[number];

/** Names of the kinds that a dial plan may name: all but that of test calls. */
export const plannedTypes = providerTypes.filter((name) => name !== "sandbox");

/** Returns true if a dial plan may name a kind. */
export function isPlannedType(name: string): name is (typeof plannedTypes)[number] {
  return plannedTypes.some((type) => type === name);
}
