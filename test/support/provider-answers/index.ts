import type { DialOutcome, FoundCall } from "../../../shared/providers/provider.ts";
import type { AnswerFixture, LookUpFixture } from "../../contracts/provider-bench.ts";
import { amazonConnectAnswers } from "./amazon-connect.ts";
import { blandAnswers, blandAnyNumberLookUps, blandLookUps } from "./bland.ts";
import { elevenlabsAnswers, elevenlabsLookUps } from "./elevenlabs.ts";
import { exotelAnswers, exotelLookUps } from "./exotel.ts";
import { livekitAnswers, livekitDispatchAnswers, livekitLookUps } from "./livekit.ts";
import { plivoAnswers, plivoLookUps } from "./plivo.ts";
import { retellAnswers, retellLookUps } from "./retell.ts";
import { signalwireAnswers, signalwireOwnLookUps } from "./signalwire.ts";
import { telnyxAnswers, telnyxLookUps } from "./telnyx.ts";
import { twilioAnswers, twilioLookUps } from "./twilio.ts";
import { ultravoxAnswers, ultravoxLookUps } from "./ultravox.ts";
import { vapiAnswers, vapiLookUps } from "./vapi.ts";
import { vonageAnswers, vonageLookUps } from "./vonage.ts";
import { webhookAnswers } from "./webhook.ts";

/** Every provider's documented answers and records, by its name in docs/provider-answers.md. */
const known: Record<string, { answers: AnswerFixture[]; lookUps: LookUpFixture[] }> = {
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
export const providerAnswers = Object.values(known).flatMap(({ answers }) => answers);

/** Classes of outcomes, as docs/provider-answers.md names them. */
export const classes: Record<DialOutcome["kind"], string> = {
  placed: "PLACED",
  rejected: "the call",
  not_placed: "later",
  account_refused: "the account",
  route_refused: "the route",
  forbidden: "a person",
  unknown: "unknown",
};

/** Source of a fixture, without what it says of this answer. */
const sourceOf = (page: string) => page.split(": ", 1)[0] ?? page;

function classOf(outcome: DialOutcome): string {
  const name = classes[outcome.kind];
  const ofNumber = outcome.kind === "rejected" && outcome.blamesNumber === true;
  return ofNumber ? `${name}'s number` : name;
}

/** Returns the rows of the table of answers: provider, status, answer, class, source. */
export function answerRows(): string[][] {
  return Object.entries(known).flatMap(([name, { answers }]) =>
    answers.map(({ status, says, page, outcome }) => [
      name,
      String(status),
      says ?? page,
      classOf(outcome),
      sourceOf(page),
    ]),
  );
}

function foundAs(found: FoundCall | undefined): string {
  if (found === undefined) return "undecided";
  if ("notPlaced" in found) return `not placed: ${classes[found.notPlaced.kind]}`;
  if (found.by === "id") return "PLACED";
  const { length } = found.providerCallIds;
  return length === 0 ? "undecided" : `${length} candidates`;
}

/** Returns the rows of the table of records: provider, record, meaning, source. */
export function recordRows(): string[][] {
  return Object.entries(known).flatMap(([name, { lookUps }]) =>
    lookUps.map(({ says, page, found }) => [name, says ?? page, foundAs(found), sourceOf(page)]),
  );
}
