import type { ResultFixture } from "../../contracts/provider-bench.ts";
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

/** Records of placed calls, by the provider's name in docs/provider-answers.md. */
const known: Record<string, ResultFixture[]> = {
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

function statusOf({ status, human }: ResultFixture["result"]): string {
  return human === true ? `${status}, a person` : status;
}

/** Returns the rows of the table of results: provider, record, status, source. */
export function resultRows(): string[][] {
  return Object.entries(known).flatMap(([name, fixtures]) =>
    fixtures.map(({ says, page, result }) => [name, says, statusOf(result), page]),
  );
}
