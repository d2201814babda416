import type { ResultFixture, ResultsUnderTest } from "#test/contracts/provider-bench.ts";
import { talk } from "./talk.ts";

const calls = "/2010-04-01/Accounts/AC1/Calls";
const headers = { authorization: `Basic ${Buffer.from("AC1:token_5").toString("base64")}` };
const page = "www.twilio.com/docs/voice/api/call-resource";
const detection = "www.twilio.com/docs/voice/answering-machine-detection";
const end_time = "Sat, 21 Nov 2026 00:00:52 +0000";
const spoken = { status: "completed", duration: "42", end_time };

const of = (status: string, result: ResultFixture["result"], more: object = {}): ResultFixture => ({
  page,
  says: `\`status: ${status}\``,
  record: { status, ...more },
  result: { word: result.status === "live" ? null : status, ...result },
});
const by = (
  answered_by: string,
  human: boolean | null,
  status: "completed" | "voicemail",
  source = detection,
): ResultFixture => ({
  page: source,
  says: `\`completed\`, \`answered_by: ${answered_by}\``,
  record: { ...spoken, answered_by },
  result: { status, human, word: "completed", ...talk },
});

const fixtures: ResultFixture[] = [
  of("queued", { status: "live" }),
  of("initiated", { status: "live" }),
  of("ringing", { status: "live" }),
  of("in-progress", { status: "live", answered: true }),
  of(
    "completed",
    { status: "completed", ...talk, cost: { amount: "0.03", currency: "USD" } },
    { duration: "42", end_time, price: "-0.03000", price_unit: "USD" },
  ),
  of("busy", { status: "busy", endedAt: talk.endedAt }, { duration: "0", end_time }),
  of("no-answer", { status: "no_answer" }, { duration: null, end_time: null }),
  of("failed", { status: "failed" }),
  of("canceled", { status: "failed" }),
  by("human", true, "completed", page),
  by("machine", false, "voicemail", page),
  by("machine_start", false, "voicemail"),
  by("machine_end_beep", false, "voicemail"),
  by("machine_end_silence", false, "voicemail"),
  by("machine_end_other", false, "voicemail"),
  by("fax", false, "voicemail"),
  by("unknown", null, "completed"),
];

export const twilioResults: ResultsUnderTest = {
  fixtures,
  asks: (sid) => [{ path: `${calls}/${sid}.json`, headers }],
  answers: (record) => [{ sid: "provider-1", to: "+12025550123", ...record }],
  unmapped: (status) => ({
    answered: { ...spoken, status },
    unanswered: { status, duration: null },
  }),
  tells: [],
  list: {
    asks: () => [
      { path: `${calls}.json?StartTime%3E=2026-11-20T23%3A59%3A58Z&PageSize=1000`, headers },
      { path: `${calls}.json?PageToken=PA2`, headers },
    ],
    rowOf: (sid, record) => ({ sid, to: "+12025550123", direction: "outbound-api", ...record }),
    page: (rows, hasMore) => ({
      calls: rows,
      next_page_uri: hasMore ? `${calls}.json?PageToken=PA2` : null,
    }),
  },
};
