import type { AnswerFixture, LookUpFixture } from "#test/contracts/provider-bench.ts";
import { amazonConnectAnswers } from "./amazon-connect.ts";
import { blandAnswers, blandAnyNumberLookUps, blandLookUps } from "./bland.ts";
import { elevenlabsAnswers, elevenlabsLookUps } from "./elevenlabs.ts";
import { exotelAnswers, exotelLookUps } from "./exotel.ts";
import { livekitAnswers, livekitDispatchAnswers } from "./livekit.ts";
import { livekitLookUps } from "./livekit-look-ups.ts";
import { plivoAnswers, plivoLookUps } from "./plivo.ts";
import { retellAnswers, retellLookUps } from "./retell.ts";
import { signalwireAnswers, signalwireOwnLookUps } from "./signalwire.ts";
import { telnyxAnswers } from "./telnyx.ts";
import { telnyxLookUps } from "./telnyx-look-ups.ts";
import { twilioAnswers, twilioLookUps } from "./twilio.ts";
import { ultravoxAnswers, ultravoxLookUps } from "./ultravox.ts";
import { vapiAnswers, vapiLookUps } from "./vapi.ts";
import { vonageAnswers, vonageLookUps } from "./vonage.ts";
import { webhookAnswers } from "./webhook.ts";

/** Every provider's answers and records, by its name. */
export const answersOfProviders: Record<
  string,
  { answers: AnswerFixture[]; lookUps: LookUpFixture[] }
> = {
  "Amazon Connect": { answers: amazonConnectAnswers, lookUps: [] },
  Bland: { answers: blandAnswers, lookUps: [...blandLookUps, ...blandAnyNumberLookUps] },
  ElevenLabs: { answers: elevenlabsAnswers, lookUps: elevenlabsLookUps },
  Exotel: { answers: exotelAnswers, lookUps: exotelLookUps },
  LiveKit: { answers: [...livekitAnswers, ...livekitDispatchAnswers], lookUps: livekitLookUps },
  Plivo: { answers: plivoAnswers, lookUps: plivoLookUps },
  Retell: { answers: retellAnswers, lookUps: retellLookUps },
  SignalWire: { answers: signalwireAnswers, lookUps: signalwireOwnLookUps },
  Telnyx: { answers: telnyxAnswers, lookUps: telnyxLookUps },
  Twilio: { answers: twilioAnswers, lookUps: twilioLookUps },
  Ultravox: { answers: ultravoxAnswers, lookUps: ultravoxLookUps },
  Vapi: { answers: vapiAnswers, lookUps: vapiLookUps },
  Vonage: { answers: vonageAnswers, lookUps: vonageLookUps },
  Webhook: { answers: webhookAnswers, lookUps: [] },
};

/** Every provider's documented answers. */
export const providerAnswers = Object.values(answersOfProviders).flatMap(({ answers }) => answers);
