import type { ResultFixture } from "#test/contracts/provider-bench.ts";
import { amazonConnectResults } from "./amazon-connect.ts";
import { blandResults } from "./bland.ts";
import { elevenlabsResults } from "./elevenlabs.ts";
import { exotelResults } from "./exotel.ts";
import { plivoResults } from "./plivo.ts";
import { retellResults } from "./retell.ts";
import { telnyxResults } from "./telnyx.ts";
import { twilioResults } from "./twilio.ts";
import { ultravoxResults } from "./ultravox.ts";
import { vapiResults } from "./vapi.ts";
import { vonageResults } from "./vonage.ts";

/** Records of placed calls, by the provider's name. */
export const resultsOfProviders: Record<string, ResultFixture[]> = {
  "Amazon Connect": amazonConnectResults("").fixtures,
  Bland: blandResults.fixtures,
  ElevenLabs: elevenlabsResults.fixtures,
  Exotel: exotelResults.fixtures,
  Plivo: plivoResults.fixtures,
  Retell: retellResults.fixtures,
  Telnyx: telnyxResults.fixtures,
  Twilio: twilioResults.fixtures,
  Ultravox: ultravoxResults.fixtures,
  Vapi: vapiResults.fixtures,
  Vonage: vonageResults.fixtures,
};
