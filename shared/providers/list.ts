import type { ProviderAdapter } from "./provider.ts";
import type { ProviderType } from "../calls/provider-types.ts";
import type * as z from "../lib/zod.ts";
import { amazonConnect, amazonConnectRoutes } from "./amazon-connect.ts";
import { bland, blandRoutes } from "./bland.ts";
import { elevenlabs, elevenlabsRoutes } from "./elevenlabs.ts";
import { exotel, exotelRoutes } from "./exotel.ts";
import { livekit, livekitRoutes } from "./livekit.ts";
import { plivo, plivoRoutes } from "./plivo.ts";
import { retell, retellRoutes } from "./retell.ts";
import { signalwire, signalwireRoutes } from "./signalwire.ts";
import { sandbox, sandboxRoutes } from "./sandbox.ts";
import { simulator, simulatorRoutes } from "./simulator.ts";
import { telnyx, telnyxRoutes } from "./telnyx.ts";
import { twilio, twilioRoutes } from "./twilio.ts";
import { ultravox, ultravoxRoutes } from "./ultravox.ts";
import { vapi, vapiRoutes } from "./vapi.ts";
import { vonage, vonageRoutes } from "./vonage.ts";
import { webhook, webhookRoutes } from "./webhook.ts";

/** Every kind of dialing provider, as the API knows it. Dial plans may name all but the sandbox. */
export const providerTypes = [
  amazonConnectRoutes,
  blandRoutes,
  elevenlabsRoutes,
  exotelRoutes,
  livekitRoutes,
  plivoRoutes,
  retellRoutes,
  sandboxRoutes,
  signalwireRoutes,
  simulatorRoutes,
  telnyxRoutes,
  twilioRoutes,
  ultravoxRoutes,
  vapiRoutes,
  vonageRoutes,
  webhookRoutes,
] as const;

/** A route with all fields of its provider. */
export type ProviderRoute = z.infer<(typeof providerTypes)[number]["routeSchema"]>;

/** The adapter of each kind. The API imports `providerTypes` alone, so its bundle has no adapter. */
export const adapters: {
  [Type in ProviderType]: ProviderAdapter<Extract<ProviderRoute, { provider: Type }>>;
} = {
  "amazon-connect": amazonConnect,
  bland,
  elevenlabs,
  exotel,
  livekit,
  plivo,
  retell,
  sandbox,
  signalwire,
  simulator,
  telnyx,
  twilio,
  ultravox,
  vapi,
  vonage,
  webhook,
};
