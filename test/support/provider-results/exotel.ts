import type { ResultFixture, ResultsUnderTest } from "#test/contracts/provider-bench.ts";

const headers = { authorization: `Basic ${Buffer.from("key_1:token_8").toString("base64")}` };
const calls = "/v1/Accounts/acme1/Calls";
const page = "developer.exotel.com/docs/references/error-codes";

const of = (Status: string, result: ResultFixture["result"], more: object = {}): ResultFixture => ({
  page,
  says: `\`Status: ${Status}\``,
  record: { Status, Duration: null, ...more },
  result: { word: result.status === "live" ? null : Status, ...result },
});

const fixtures: ResultFixture[] = [
  of("queued", { status: "live" }),
  of("ringing", { status: "live" }),
  of("in-progress", { status: "live" }),
  of("completed", { status: "completed", seconds: 42 }, { Duration: "42" }),
  {
    page: "support.exotel.com/support/solutions/articles/56523",
    says: "`Status: completed`, before its length is told",
    record: { Status: "completed", Duration: null },
    result: { status: "completed", word: "completed" },
  },
  of("no-answer", { status: "no_answer" }, { Duration: "0" }),
  of("busy", { status: "busy" }),
  of("failed", { status: "failed" }),
  of("canceled", { status: "failed" }),
];

export const exotelResults: ResultsUnderTest = {
  fixtures,
  asks: (sid) => [{ path: `${calls}/${sid}.json`, headers }],
  answers: (record) => [{ Call: { Sid: "provider-1", ...record } }],
  unmapped: (Status) => ({
    answered: { Status, Duration: "42" },
    unanswered: { Status, Duration: null },
  }),
  tells: [],
  list: {
    asks: () => {
      const first = `${calls}.json?DateCreated=gte%3A2026-11-20+23%3A59%3A58&Direction=outbound-api&PageSize=100`;
      return [
        { path: first, headers },
        { path: `${first}&After=c2`, headers },
      ];
    },
    rowOf: (Sid, record) => ({ Sid, Direction: "outbound-api", ...record }),
    page: (Calls, hasMore) => ({
      Metadata: { NextPageUri: hasMore ? `${calls}.json?PageSize=100&After=c2` : null },
      Calls,
    }),
  },
};
