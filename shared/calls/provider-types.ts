import { sandboxType } from "./call-request.ts";

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

/** Names of the kinds that a dial plan may name. */
export const typeNames: readonly string[] = providerTypes.filter((name) => name !== sandboxType);

/** True if a row's route is of a kind that this version knows. */
export function isRouteType(type: string): boolean {
  return type === sandboxType || typeNames.includes(type);
}
