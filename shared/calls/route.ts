const types = [
  "amazon-connect",
  "bland",
  "elevenlabs",
  "exotel",
  "livekit",
  "plivo",
  "retell",
  "signalwire",
  "simulator",
  "telnyx",
  "twilio",
  "ultravox",
  "vapi",
  "vonage",
  "webhook",
] as const;
/** Kinds of dialing provider, as dial plans and rows name them. */
export const providerTypes: readonly string[] = types;

/**
 * Route of an agent's calls, as kept with each call. Its provider's own fields stand beside these: their schema is the
 * provider's (shared/providers).
 */
export interface Route {
  type: (typeof types)[number];
  /** Name of the account in the dial plan's `providers`. */
  provider: string;
  callingHours?: string | undefined;
  /** Another address of the provider's API. */
  baseUrl?: string | undefined;
  /** URL of a webhook, to which its calls are posted. */
  url?: string;
  /** True if the provider drops a call whose id it has seen, so that a call of unknown outcome may be resent. */
  idempotent?: boolean | undefined;
}

/**
 * Names the account that a route's calls are placed under. Each host of a webhook is an account of its own: a host that
 * answers 401 says nothing about the others.
 */
export function accountNameOf({ provider, url }: Pick<Route, "provider" | "url">): string {
  return url === undefined ? provider : `${provider}:${new URL(url).origin}`;
}
