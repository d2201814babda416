import { amazonConnect } from "./amazon-connect.ts";
import { bland } from "./bland.ts";
import type { DialingProvider, ProviderAdapter, ProviderOptions } from "./provider.ts";
import { elevenlabs } from "./elevenlabs.ts";
import { exotel } from "./exotel.ts";
import type { Route } from "../calls/call-request.ts";
import { type ProviderRoute, findRole, secretName } from "./routes.ts";
import { livekit } from "./livekit.ts";
import { plivo } from "./plivo.ts";
import { retell } from "./retell.ts";
import { signalwire } from "./signalwire.ts";
import { simulator } from "./simulator.ts";
import { telnyx } from "./telnyx.ts";
import { twilio } from "./twilio.ts";
import { ultravox } from "./ultravox.ts";
import { vapi } from "./vapi.ts";
import { vonage } from "./vonage.ts";
import { webhook } from "./webhook.ts";

/** The adapters of all types. The dialer alone imports them. */
const adapters: {
  [Type in Route["type"]]: ProviderAdapter<Extract<ProviderRoute, { type: Type }>>;
} = {
  "amazon-connect": amazonConnect,
  bland,
  elevenlabs,
  exotel,
  livekit,
  plivo,
  retell,
  signalwire,
  simulator,
  telnyx,
  twilio,
  ultravox,
  vapi,
  vonage,
  webhook,
};

/**
 * Returns a function that finds the dialing provider of a route. @throws if a secret of one of `routes` is
 * malformed
 */
export function createProviders(
  {
    environment,
    ...options
  }: Omit<ProviderOptions, "secret" | "role"> & {
    environment: Record<string, string | undefined>;
  },
  routes: Route[],
): (route: Route) => DialingProvider<Route> {
  const secret = (account: string, name: string) => environment[secretName(account, name)];
  const role = findRole(environment);
  const created = new Map(
    Object.entries<ProviderAdapter<Route>>(adapters).map(([type, adapter]) => [
      type,
      adapter.create({ ...options, secret, role }, routes),
    ]),
  );
  return (route) => {
    const provider = created.get(route.type);
    if (provider === undefined) throw new Error("a route names an unknown provider");
    return provider;
  };
}
