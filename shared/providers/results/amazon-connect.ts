import * as z from "../../platform/zod.ts";
import type { ReadResult } from "../dialing-provider.ts";
import { answerersOf, type RecordType, resultOf, wordsOf } from "./result.ts";

/**
 * Values of `DisconnectReason` (https://docs.aws.amazon.com/connect/latest/adminguide/ctr-data-model.html). Who
 * hung up does not tell that anybody had answered: `ConnectedToSystemTimestamp`, the time of the callee's
 * answer, does.
 */
const words = wordsOf(
  ["live", "live"],
  ["no_answer", "TELECOM_UNANSWERED TELECOM_TIMEOUT TELECOM_ORIGINATOR_CANCEL"],
  ["busy", "TELECOM_BUSY"],
  ["invalid", "TELECOM_NUMBER_INVALID"],
  ["blocked", "TELECOM_POTENTIAL_BLOCKING"],
  [
    "failed",
    "TELECOM_PROBLEM OUTBOUND_DESTINATION_ENDPOINT_ERROR OUTBOUND_RESOURCE_ERROR " +
      "OUTBOUND_ATTEMPT_FAILED EXPIRED",
  ],
  [
    "unknown",
    "CUSTOMER_DISCONNECT AGENT_DISCONNECT THIRD_PARTY_DISCONNECT CONTACT_FLOW_DISCONNECT " +
      "BARGED OTHER",
  ],
);

/** Values of `AnsweringMachineDetectionStatus`, which campaigns have alone. The others tell nothing. */
const answeredBy = answerersOf(
  "HUMAN_ANSWERED",
  "VOICEMAIL_BEEP VOICEMAIL_NO_BEEP FAX_MACHINE_DETECTED",
);

/** Times are in seconds since the epoch. */
const contactSchema = z.object({
  Contact: z.object({
    Id: z.string().check(z.minLength(1), z.maxLength(256)),
    DisconnectReason: z.nullish(z.string()),
    ConnectedToSystemTimestamp: z.nullish(z.number()),
    DisconnectTimestamp: z.nullish(z.number()),
    AnsweringMachineDetectionStatus: z.nullish(z.string()),
  }),
});

function resultOfContact({ Contact }: z.infer<typeof contactSchema>): ReadResult {
  const { DisconnectReason, ConnectedToSystemTimestamp, DisconnectTimestamp } = Contact;
  const isLive = DisconnectTimestamp == null && !DisconnectReason;
  return resultOf(words, {
    word: isLive ? "live" : DisconnectReason,
    human: answeredBy.get(Contact.AnsweringMachineDetectionStatus ?? ""),
    answeredAt: (ConnectedToSystemTimestamp ?? Number.NaN) * 1000,
    endedAt: (DisconnectTimestamp ?? Number.NaN) * 1000,
  });
}

export const connectRecord: RecordType<z.infer<typeof contactSchema>> = {
  schema: contactSchema,
  resultOf: resultOfContact,
};
