import type { ResultStatus } from "#shared/calls/call-result.ts";
import type { ResultFixture, ResultsUnderTest } from "#test/contracts/provider-bench.ts";
import { answered, ended, talk } from "./talk.ts";

const headers = { authorization: "Bearer key_1" };
const page = "docs.vapi.ai/calls/call-ended-reason";
const sdk = "VapiAI/server-sdk, CallEndedReason and CallStatus";
const createdAt = "2026-11-21T00:00:00.000Z";
const spoken = { status: "ended", startedAt: answered, endedAt: ended };
const rung = { status: "ended", endedAt: ended };

const live = (status: string): ResultFixture => ({
  page: sdk,
  says: `\`status: ${status}\``,
  record: { status },
  result: { status: "live" },
});
const after = (endedReason: string): ResultFixture => ({
  page,
  says: `\`${endedReason}\``,
  record: { ...spoken, endedReason },
  result: { status: "completed", word: endedReason, ...talk },
});
const without = (endedReason: string, status: ResultStatus, word = endedReason): ResultFixture => ({
  page,
  says: `\`${endedReason}\``,
  record: { ...rung, endedReason },
  result: { status, word, endedAt: talk.endedAt },
});
/** A reason that says nothing of an answer, with and without one. */
const either = (endedReason: string, word = endedReason): ResultFixture[] => [
  {
    ...after(endedReason),
    says: `\`${endedReason}\`, after \`startedAt\``,
    result: { status: "completed", word, ...talk },
  },
  {
    ...without(endedReason, "unknown", word),
    says: `\`${endedReason}\`, without \`startedAt\``,
  },
];
const start = "call.start.error-";
const inProgress = "call.in-progress.error-";
const sip = `${inProgress}providerfault-outbound-sip-`;

const fixtures: ResultFixture[] = [
  ...["not-found", "deletion-failed"].map((status): ResultFixture => ({
    ...live(status),
    result: { status: "unknown", word: status },
  })),
  live("scheduled"),
  live("queued"),
  live("ringing"),
  live("in-progress"),
  live("forwarding"),
  {
    ...after("customer-ended-call"),
    record: { ...spoken, endedReason: "customer-ended-call", cost: 0.0421 },
    result: {
      status: "completed",
      word: "customer-ended-call",
      ...talk,
      cost: { amount: "0.0421", currency: "USD" },
    },
  },
  after("assistant-ended-call"),
  after("assistant-ended-call-after-message-spoken"),
  after("assistant-ended-call-with-hangup-task"),
  after("assistant-said-end-call-phrase"),
  after("assistant-forwarded-call"),
  after("exceeded-max-duration"),
  after("silence-timed-out"),
  after("customer-ended-call-before-warm-transfer"),
  after("customer-ended-call-after-warm-transfer-attempt"),
  after("customer-ended-call-during-transfer"),
  {
    ...after("voicemail"),
    result: { status: "voicemail", human: false, word: "voicemail", ...talk },
  },
  without("customer-did-not-answer", "no_answer"),
  without(`${sip}408-request-timeout`, "no_answer"),
  without(`${sip}480-temporarily-unavailable`, "no_answer"),
  without("customer-busy", "busy"),
  without("twilio-reported-customer-misdialed", "invalid"),
  without("vonage-rejected", "blocked"),
  without(`${sip}403-forbidden`, "blocked"),
  without(`${start}fraud-check-failed`, "blocked"),
  ...[
    "subscription-concurrency-limit-reached",
    "vapifault-database-error",
    "vapifault-get-org",
    "vapifault-get-subscription",
    "subscription-frozen",
    "subscription-insufficient-credits",
    "subscription-upgrade-failed",
    "subscription-wallet-does-not-exist",
    "vapi-number-outbound-daily-limit",
    "get-phone-number",
    "get-assistant",
    "vapi-number-international",
    "get-transport",
    "get-customer",
    "get-resources-validation",
    "enterprise-feature-not-available-recording-consent",
  ].map((reason) => without(start + reason, "failed")),
  ...["assistant-not-valid", "scheduled-call-deleted"].map((reason) => ({
    ...without(reason, "failed"),
    page: sdk,
    says: `\`${reason}\`, even after \`startedAt\``,
    record: { ...spoken, endedReason: reason },
  })),
  ...["say", "transfer"].map((hook) => ({
    ...without(`call.ringing.hook-executed-${hook}`, "unknown", "call.ringing."),
    page: sdk,
    says: `\`call.ringing.hook-executed-${hook}\`, even after \`startedAt\``,
    record: { ...spoken, endedReason: `call.ringing.hook-executed-${hook}` },
  })),
  without("assistant-not-found", "failed"),
  without("call-start-error-neither-assistant-nor-server-set", "failed"),
  without("call.start.assistant-version-not-found", "failed", "call.start.assistant-version-"),
  without("twilio-failed-to-connect-call", "failed"),
  without("vonage-failed-to-connect-call", "failed"),
  without(`${inProgress}sip-outbound-call-failed-to-connect`, "failed"),
  without(`${inProgress}vapifault-transport-never-connected`, "failed"),
  without(`${inProgress}providerfault-transport-never-connected`, "failed"),
  without(`${sip}407-proxy-authentication-required`, "failed"),
  without(`${sip}503-service-unavailable`, "failed"),
  ...[
    "manually-canceled",
    "call-deleted",
    "worker-shutdown",
    "assistant-join-timed-out",
    "vonage-disconnected",
    "vonage-completed",
    "call.in-progress.twilio-completed-call",
    "call.in-progress.sip-completed-call",
    "phone-call-provider-closed-websocket",
    "call.forwarding.operator-busy",
    "call.forwarding.no-answer",
  ].flatMap((reason) => either(reason)),
  ...either(`${inProgress}providerfault-openai-llm-failed`, inProgress),
  ...either("call.ending.hook-executed-say", "call.ending."),
  ...either("call.ending.hook-executed-transfer", "call.ending."),
  ...either("pipeline-error-openai-voice-failed", "pipeline-"),
];

const list = (query: string) => ({
  path: `/call?createdAtGe=2026-11-20T23%3A59%3A58.500Z&${query}limit=50`,
  headers,
});

/**
 * Calls that were answered and ended by a transfer that failed, or by a broken line, with the words of unanswered ones, and
 * one of which no phone rang.
 */
export const vapiTransfers: ResultFixture[] = [
  `${sip}403-forbidden`,
  `${sip}407-proxy-authentication-required`,
  `${sip}408-request-timeout`,
  `${sip}480-temporarily-unavailable`,
  `${sip}503-service-unavailable`,
  `${inProgress}providerfault-transport-never-connected`,
  "twilio-failed-to-connect-call",
  "vonage-failed-to-connect-call",
  "vonage-rejected",
].map((reason) => ({
  ...after(reason),
  page: "docs.vapi.ai/calls/troubleshoot-call-errors#transfer-failed",
  says: `\`${reason}\`, after \`startedAt\``,
}));
vapiTransfers.push({
  ...without(`${inProgress}vapifault-transport-never-connected`, "failed"),
  page: "docs.vapi.ai/calls/troubleshoot-call-errors#phone-never-rang",
  says: `\`${inProgress}vapifault-transport-never-connected\`, even after \`startedAt\``,
  record: { ...spoken, endedReason: `${inProgress}vapifault-transport-never-connected` },
});

export const vapiResults: ResultsUnderTest = {
  fixtures,
  asks: (id) => [{ path: `/call/${id}`, headers }],
  answers: (record, { id }) => [
    { id: "provider-1", createdAt, name: "attempt 1", customer: { externalId: id }, ...record },
  ],
  // No field of a call shows an answer by itself.
  unmapped: (endedReason) => ({ unanswered: { ...spoken, endedReason } }),
  tells: ["id", "attempt"],
  list: {
    asks: () => [list(""), list(`createdAtLt=${encodeURIComponent(createdAt)}&`)],
    rowOf: (id, record) => ({ id, createdAt, name: "changed by hand", ...record }),
    // Another page follows a full one.
    page: (rows, hasMore) =>
      hasMore ? [...rows, ...rows, ...rows, ...rows].slice(0, 50) : rows.slice(0, 49),
  },
};
