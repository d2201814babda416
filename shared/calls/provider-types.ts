/** Kind of the route of test calls (shared/providers/sandbox.ts). No dial plan may name it. */
export const sandboxType = "sandbox";

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
  sandboxType,
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

/** Names of the kinds that a dial plan may name. */
export const plannedTypes = providerTypes.filter((name) => name !== sandboxType);

/** Returns true if a dial plan may name a kind. */
export function isPlannedType(name: string): name is (typeof plannedTypes)[number] {
  return plannedTypes.some((type) => type === name);
}
