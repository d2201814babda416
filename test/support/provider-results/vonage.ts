import type { ResultFixture, ResultsUnderTest } from "#test/contracts/provider-bench.ts";
import { talk } from "./talk.ts";

const page = "developer.vonage.com/en/voice/voice-api/webhook-reference";
const voice = "github.com/Nexmo/api-specification, definitions/voice.yml";
const spoken = {
  start_time: "2026-11-21 00:00:10",
  end_time: "2026-11-21 00:00:52",
  duration: "42",
};

const of = (status: string, result: ResultFixture["result"], more: object = {}): ResultFixture => ({
  page,
  says: `\`status: ${status}\``,
  record: { status, ...more },
  result: { word: result.status === "live" ? null : status, ...result },
});

const fixtures: ResultFixture[] = [
  of("started", { status: "live" }),
  of("ringing", { status: "live" }),
  of("answered", { status: "live", answered: true }),
  of("machine", { status: "live", answered: true }),
  of("human", { status: "live", answered: true }),
  of("completed", { status: "completed", ...talk }, spoken),
  {
    page: voice,
    says: "`status: completed`, times in the form of ISO 8601",
    record: {
      status: "completed",
      start_time: "2026-11-21T00:00:10.000Z",
      end_time: "2026-11-21T00:00:52.000Z",
      duration: "42",
    },
    result: { status: "completed", word: "completed", ...talk },
  },
  of("busy", { status: "busy" }),
  of("timeout", { status: "no_answer" }),
  of("unanswered", { status: "unknown" }),
  {
    ...of("completed", { status: "unknown" }),
    says: "`status: completed`, without a length",
  },
  {
    ...of("completed", { status: "unknown" }, { end_time: spoken.end_time, duration: "0" }),
    says: "`status: completed`, after 0 s",
    result: { status: "unknown", word: "completed", endedAt: talk.endedAt },
  },
  of("failed", { status: "failed" }),
  of("rejected", { status: "unknown" }),
  of("cancelled", { status: "failed" }),
];

const listed = (index: number) => ({
  path: `/v1/calls?date_start=2026-11-20T23%3A59%3A58Z&page_size=100&record_index=${index}&order=asc`,
  headers: {},
});

export const vonageResults: ResultsUnderTest = {
  fixtures,
  asks: (uuid) => [{ path: `/v1/calls/${uuid}`, headers: {} }],
  answers: (record) => [{ uuid: "provider-1", direction: "outbound", ...record }],
  unmapped: (status) => ({ answered: { ...spoken, status }, unanswered: { status } }),
  tells: [],
  list: {
    asks: () => [listed(0), listed(100)],
    rowOf: (uuid, record) => ({ uuid, direction: "outbound", ...record }),
    page: (calls, hasMore) => ({
      _links: hasMore ? { next: { href: "/v1/calls?page_size=100&record_index=100" } } : {},
      _embedded: { calls },
    }),
  },
};
