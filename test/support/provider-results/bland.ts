import type { ResultFixture, ResultsUnderTest } from "#test/contracts/provider-bench.ts";
import { answered, talk } from "./talk.ts";

const page = "docs.bland.ai/api-v1/get/calls-id";
const spoken = {
  completed: true,
  queue_status: "complete",
  started_at: answered,
  corrected_duration: "42",
};
const rung = { completed: true, queue_status: "complete", call_length: null };

const live = (queue_status: string): ResultFixture => ({
  page,
  says: `\`queue_status: ${queue_status}\``,
  record: { completed: false, queue_status },
  result: { status: "live" },
});
const by = (answered_by: string, result: ResultFixture["result"]): ResultFixture => ({
  page,
  says: `\`completed\`, \`answered_by: ${answered_by}\``,
  record: { ...spoken, status: "completed", answered_by },
  result: { word: "completed", ...talk, ...result },
});
/** A word that says nothing of an answer, with and without one. */
const either = (field: "status" | "queue_status", word: string): ResultFixture[] => [
  {
    page,
    says: `\`${field}: ${word}\`, after some seconds`,
    record: { ...spoken, [field]: word },
    result: { status: "completed", word, ...talk },
  },
  {
    page,
    says: `\`${field}: ${word}\`, without a length`,
    record: { ...rung, [field]: word },
    result: { status: "unknown", word },
  },
];

const fixtures: ResultFixture[] = [
  live("new"),
  live("queued"),
  live("allocated"),
  live("started"),
  {
    page,
    says: "`completed: false` alone",
    record: { completed: false },
    result: { status: "live" },
  },
  {
    page,
    says: "`status: completed`",
    record: { ...spoken, status: "completed", answered_by: null, price: 0.135 },
    result: {
      status: "completed",
      word: "completed",
      ...talk,
      cost: { amount: "0.135", currency: "USD" },
    },
  },
  {
    page,
    says: "`completed: true`, despite `queue_status: started`; `call_length` in minutes",
    record: { completed: true, queue_status: "started", status: "completed", call_length: 0.7 },
    result: { status: "completed", word: "completed", seconds: 42 },
  },
  by("human", { status: "completed", human: true }),
  by("voicemail", { status: "voicemail", human: false }),
  by("unknown", { status: "completed" }),
  {
    page,
    says: "`answered_by: no-answer`",
    record: { ...rung, status: "completed", answered_by: "no-answer" },
    result: { status: "no_answer", word: "no-answer" },
  },
  {
    page,
    says: "`status: no-answer`",
    record: { ...rung, status: "no-answer" },
    result: { status: "no_answer", word: "no-answer" },
  },
  {
    page,
    says: "`status: busy`",
    record: { ...rung, status: "busy" },
    result: { status: "busy", word: "busy" },
  },
  {
    page,
    says: "`queue_status: pre_queue_error`",
    record: { completed: false, queue_status: "pre_queue_error" },
    result: { status: "failed", word: "pre_queue_error" },
  },
  {
    page,
    says: "`queue_status: queue_error`",
    record: { completed: false, queue_status: "queue_error", status: "failed" },
    result: { status: "failed", word: "queue_error" },
  },
  ...either("status", "completed"),
  {
    page,
    says: "`status: completed`, `answered_by: voicemail`, without a length",
    record: { ...rung, status: "completed", answered_by: "voicemail" },
    result: { status: "voicemail", word: "completed", human: false },
  },
  ...either("status", "failed"),
  ...either("status", "canceled"),
  ...either("status", "unknown"),
  ...either("queue_status", "complete"),
  ...either("queue_status", "call_error"),
  ...either("queue_status", "complete_error"),
];

export const blandResults: ResultsUnderTest = {
  fixtures,
  asks: (id) => [{ path: `/v1/calls/${id}`, headers: { authorization: "org_1" } }],
  answers: (record, { id }) => [
    { call_id: "provider-1", metadata: { call_id: id, attempt: "1" }, ...record },
  ],
  unmapped: (status) => ({ answered: { ...spoken, status }, unanswered: { ...rung, status } }),
  tells: ["id", "attempt"],
};
