import { expect } from "vitest";
import type { ResultStatus } from "#shared/calls/call-result.ts";
import type { ResultFixture, ResultsUnderTest } from "#test/contracts/provider-bench.ts";
import { talk } from "./talk.ts";

const page = "docs.aws.amazon.com/connect/latest/adminguide/ctr-data-model.html";
const reference = "docs.aws.amazon.com/connect/latest/APIReference/API_Contact.html";
const rung = { DisconnectTimestamp: talk.endedAt / 1000 };
const spoken = { ...rung, ConnectedToSystemTimestamp: talk.answeredAt / 1000 };

const without = (DisconnectReason: string, status: ResultStatus): ResultFixture => ({
  page,
  says: `\`${DisconnectReason}\``,
  record: { ...rung, DisconnectReason },
  result: { status, word: DisconnectReason, endedAt: talk.endedAt },
});
/** A reason that says nothing of an answer, with and without one. */
const either = (DisconnectReason: string): ResultFixture[] => [
  {
    page,
    says: `\`${DisconnectReason}\`, after \`ConnectedToSystemTimestamp\``,
    record: { ...spoken, DisconnectReason },
    result: { status: "completed", word: DisconnectReason, ...talk },
  },
  {
    ...without(DisconnectReason, "unknown"),
    says: `\`${DisconnectReason}\`, without \`ConnectedToSystemTimestamp\``,
  },
];
const by = (AnsweringMachineDetectionStatus: string, human: boolean): ResultFixture => ({
  page: reference,
  says: `\`CUSTOMER_DISCONNECT\`, \`${AnsweringMachineDetectionStatus}\``,
  record: { ...spoken, DisconnectReason: "CUSTOMER_DISCONNECT", AnsweringMachineDetectionStatus },
  result: {
    status: human ? "completed" : "voicemail",
    human,
    word: "CUSTOMER_DISCONNECT",
    ...talk,
  },
});

const fixtures: ResultFixture[] = [
  {
    page: reference,
    says: "no `DisconnectTimestamp`",
    record: { ConnectedToSystemTimestamp: null, DisconnectTimestamp: null },
    result: { status: "live" },
  },
  {
    page: reference,
    says: "no `DisconnectTimestamp`, after `ConnectedToSystemTimestamp`",
    record: { ConnectedToSystemTimestamp: talk.answeredAt / 1000 },
    result: { status: "live", answeredAt: talk.answeredAt },
  },
  without("TELECOM_TIMEOUT", "no_answer"),
  without("TELECOM_ORIGINATOR_CANCEL", "unknown"),
  {
    ...without("TELECOM_ORIGINATOR_CANCEL", "no_answer"),
    says: "`TELECOM_ORIGINATOR_CANCEL`, a minute after `InitiationTimestamp`",
    record: {
      DisconnectReason: "TELECOM_ORIGINATOR_CANCEL",
      InitiationTimestamp: talk.endedAt / 1000 - 60,
      DisconnectTimestamp: talk.endedAt / 1000,
    },
  },
  {
    ...without("TELECOM_ORIGINATOR_CANCEL", "unknown"),
    says: "`TELECOM_ORIGINATOR_CANCEL`, 5 s after `InitiationTimestamp`",
    record: {
      DisconnectReason: "TELECOM_ORIGINATOR_CANCEL",
      InitiationTimestamp: talk.endedAt / 1000 - 5,
      DisconnectTimestamp: talk.endedAt / 1000,
    },
  },
  without("TELECOM_BUSY", "busy"),
  without("TELECOM_NUMBER_INVALID", "invalid"),
  without("TELECOM_POTENTIAL_BLOCKING", "blocked"),
  without("TELECOM_PROBLEM", "failed"),
  without("OUTBOUND_DESTINATION_ENDPOINT_ERROR", "failed"),
  without("OUTBOUND_RESOURCE_ERROR", "failed"),
  without("OUTBOUND_ATTEMPT_FAILED", "failed"),
  without("TELECOM_UNANSWERED", "failed"),
  without("OUTBOUND_PREVIEW_DISCARDED", "failed"),
  without("CUSTOMER_NEVER_ARRIVED", "failed"),
  without("EXPIRED", "failed"),
  ...either("CUSTOMER_DISCONNECT"),
  ...either("AGENT_DISCONNECT"),
  ...either("THIRD_PARTY_DISCONNECT"),
  ...either("CONTACT_FLOW_DISCONNECT"),
  ...either("BARGED"),
  ...either("OTHER"),
  by("HUMAN_ANSWERED", true),
  by("VOICEMAIL_BEEP", false),
  by("VOICEMAIL_NO_BEEP", false),
  by("FAX_MACHINE_DETECTED", false),
];

export const amazonConnectResults = (instance: string): ResultsUnderTest => ({
  fixtures,
  asks: (id) => [
    {
      path: `/contacts/${instance}/${id}`,
      headers: { authorization: expect.stringContaining("AWS4-HMAC-SHA256 Credential=") },
    },
  ],
  answers: (record) => [{ Contact: { Id: "provider-1", ...record } }],
  unmapped: (DisconnectReason) => ({
    answered: { ...spoken, DisconnectReason },
    unanswered: { ...rung, DisconnectReason },
  }),
  proof: { ConnectedToSystemTimestamp: talk.answeredAt / 1000 },
  tells: [],
});
