import { amazonConnect } from "./amazon-connect.ts";
import { bland } from "./bland.ts";
import { elevenlabs } from "./elevenlabs.ts";
import type { StandInType } from "./endpoint.ts";
import { exotel } from "./exotel.ts";
import { livekit } from "./livekit.ts";
import { plivo } from "./plivo.ts";
import { retell } from "./retell.ts";
import { signalwire } from "./signalwire.ts";
import { telnyx } from "./telnyx.ts";
import { twilio } from "./twilio.ts";
import { ultravox } from "./ultravox.ts";
import { vapi } from "./vapi.ts";
import { vonage } from "./vonage.ts";
import { webhook } from "./webhook.ts";

const types = [
  amazonConnect,
  bland,
  elevenlabs,
  exotel,
  livekit,
  plivo,
  retell,
  signalwire,
  telnyx,
  twilio,
  ultravox,
  vapi,
  vonage,
  webhook,
];

/** The stand-ins of all kinds of providers, by the dial plan's `type`. */
export const standInTypes: ReadonlyMap<string, StandInType> = new Map(
  types.map((type) => [type.name, type]),
);
