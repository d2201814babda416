import type { ResultFixture, ResultsUnderTest } from "#test/contracts/provider-bench.ts";
import type { ResultStatus } from "#shared/calls/call-result.ts";
import { talk } from "./talk.ts";

const headers = { authorization: `Basic ${Buffer.from("MA1:token_7").toString("base64")}` };
const calls = "/v1/Account/MA1/Call/";
const page = "docs.plivo.com/docs/voice/troubleshooting/hangup-causes";
const spoken = {
  answer_time: "2026-11-21 05:30:10+05:30",
  end_time: "2026-11-21 05:30:52+05:30",
  bill_duration: 42,
};
const rung = { answer_time: null, end_time: "2026-11-21 05:30:52+05:30", bill_duration: 0 };

const ended = (status: ResultStatus, code: number, name: string): ResultFixture => ({
  page,
  says: `\`hangup_cause_code: ${code}\`, ${name}`,
  record: { ...rung, hangup_cause_code: code },
  result: { status, word: String(code), endedAt: talk.endedAt },
});
const either = (code: number, name: string): ResultFixture[] => [
  {
    page,
    says: `\`hangup_cause_code: ${code}\`, ${name}, after some seconds`,
    record: { ...spoken, hangup_cause_code: code },
    result: { status: "completed", word: String(code), ...talk },
  },
  {
    page,
    says: `\`hangup_cause_code: ${code}\`, ${name}, without an answer`,
    record: { ...rung, hangup_cause_code: code },
    result: { status: "unknown", word: String(code), endedAt: talk.endedAt },
  },
];

const fixtures: ResultFixture[] = [
  ...either(4000, "Normal Hangup"),
  ...either(4010, "End Of XML Instructions"),
  ...either(6000, "Scheduled Hangup"),
  ...either(7011, "Error Reaching Answer URL"),
  ...either(1010, "Canceled (Out Of Credits)"),
  ...either(0, "Unknown"),
  {
    page,
    says: "`hangup_cause_code: 9100`, Machine Detected",
    record: { ...spoken, hangup_cause_code: 9100 },
    result: { status: "voicemail", human: false, word: "9100", ...talk },
  },
  ended("no_answer", 3000, "No Answer"),
  ended("no_answer", 6010, "Ring Timeout Reached"),
  ended("busy", 3010, "Busy Line"),
  ended("busy", 3100, "Busy everywhere"),
  ended("declined", 3020, "Rejected"),
  ended("declined", 3110, "Declined"),
  ended("invalid", 2000, "Invalid Destination Address"),
  ended("invalid", 3050, "Unallocated number"),
  ended("invalid", 3120, "User does not exist anywhere"),
  ended("blocked", 3040, "Forbidden"),
  ended("blocked", 3130, "Spam block"),
  ended("blocked", 3140, "DNO Caller ID"),
  ended("failed", 1000, "Canceled"),
  ended("failed", 1020, "Canceled (Simultaneous dial limit reached)"),
  ended("failed", 2010, "Destination Out Of Service"),
  ended("failed", 2030, "Destination Country Barred"),
  ended("failed", 2040, "Destination Number Barred"),
  ended("failed", 3030, "Unknown Caller ID"),
  ended("failed", 3070, "Request timeout"),
  ended("failed", 3080, "Internal server error from carrier"),
  ended("failed", 3090, "Network congestion from carrier"),
  ended("failed", 5020, "Routing Error"),
  ended("failed", 5030, "Concurrency Limit Breached"),
  {
    page: "docs.plivo.com/docs/voice/api/calls",
    says: "times without a zone, which are left out",
    record: {
      answer_time: "2026-11-21 00:00:10",
      end_time: "2026-11-21 00:00:52",
      bill_duration: 42,
      hangup_cause_code: 4000,
    },
    result: { status: "completed", word: "4000", seconds: 42 },
  },
  {
    page: "docs.plivo.com/docs/voice/api/calls",
    says: "no `hangup_cause_code`, without an answer",
    record: rung,
    result: { status: "unknown", endedAt: talk.endedAt },
  },
];

export const plivoResults: ResultsUnderTest = {
  fixtures,
  asks: (uuid) => [{ path: `${calls}${uuid}/`, headers }],
  answers: (record) => [{ call_uuid: "provider-1", to_number: "12025550123", ...record }],
  // The code is a number, and no text of any other field is read.
  unmapped: () => ({
    answered: { ...spoken, hangup_cause_code: 4999 },
    unanswered: { ...rung, hangup_cause_code: 4999 },
  }),
  proof: { answer_time: spoken.answer_time },
  tells: [],
  list: {
    asks: () => {
      const path = (offset: number) =>
        `${calls}?call_direction=outbound&limit=20&offset=${offset}&end_time__gte=2026-11-20+23%3A59%3A58`;
      return [
        { path: path(0), headers },
        { path: path(20), headers },
      ];
    },
    rowOf: (call_uuid, record) => ({ call_uuid, to_number: "12025550123", ...record }),
    page: (objects, hasMore) => ({
      meta: { next: hasMore ? `${calls}?limit=20&offset=20` : null, offset: 0 },
      objects,
    }),
  },
};
