import type {
  AnswerFixture,
  LookUpFixture,
  ResultsUnderTest,
} from "#test/contracts/provider-bench.ts";
import { twilioResults } from "../provider-results/twilio.ts";
import { talk } from "../provider-results/talk.ts";
import { twilioAnswers, twilioLookUps } from "./twilio.ts";

const page = "signalwire.com/docs/compatibility-api/rest/calls/create-a-call";
const sid = "b3877c40-da60-4998-90ad-b792e98472af";

/** Answers that SignalWire documents. Its reference lists these statuses without bodies. */
export const signalwireAnswers: AnswerFixture[] = [
  {
    page,
    says: "a call, whose id is a UUID",
    status: 201,
    body: { sid, status: "queued", direction: "outbound-api", date_created: null },
    outcome: { kind: "placed", providerCallId: sid },
  },
  ...(
    [
      [400, "rejected"],
      [401, "account_refused"],
      [404, "rejected"],
      [422, "rejected"],
      [429, "not_placed"],
      [409, "unknown"],
      [503, "unknown"],
    ] as const
  ).map(([status, kind]): AnswerFixture => ({
    page: `${page}, responses: ${status}`,
    says: "its status alone",
    status,
    body: { message: "…" },
    outcome: { kind, code: `http_${status}` },
  })),
];

/** Returns what Twilio's tests have, with SignalWire's paths, user and codes. */
function asSignalWire<Value>(value: Value): Value {
  const user = Buffer.from("project-1:PT_5").toString("base64");
  const text = JSON.stringify(value)
    .replaceAll("/2010-04-01/Accounts/AC1/", "/api/laml/2010-04-01/Accounts/project-1/")
    .replaceAll(Buffer.from("AC1:token_5").toString("base64"), user)
    .replaceAll('"twilio_', '"signalwire_');
  return JSON.parse(text);
}

/** Answers with Twilio's numbers, which have Twilio's meaning except for 10004. */
export const signalwireAsTwilio: AnswerFixture[] = twilioAnswers
  .filter(({ body }) => !JSON.stringify(body).includes("10004"))
  .map(asSignalWire);

const spec = "github.com/signalwire/docs, specs/compatibility-api/_shared/errors.tsp";
const listed = (code: string, outcome: AnswerFixture["outcome"]): AnswerFixture => ({
  page: `${spec}: CompatibilityErrorArrayItem`,
  says: `${code} in a list of errors`,
  status: 400,
  body: { errors: [{ code, message: "… +12025550123 …", more_info: "…" }] },
  outcome,
});

/** Errors in the forms that SignalWire's specification has, and its own meaning of 10004. */
export const signalwireErrors: AnswerFixture[] = [
  listed("21210", { kind: "route_refused", code: "signalwire_21210" }),
  listed("21211", { kind: "rejected", code: "signalwire_21211", blamesNumber: true }),
  listed("30010", { kind: "rejected", code: "signalwire_30010" }),
  listed("20003", { kind: "account_refused", code: "signalwire_20003" }),
  {
    page: "signalwire.com/docs/compatibility-api/rest/error-codes",
    says: "10004 a subproject of another project",
    status: 422,
    body: { code: 10_004, message: "…", more_info: "…", status: 422 },
    outcome: { kind: "account_refused", code: "signalwire_10004" },
  },
];

export const signalwireLookUps: LookUpFixture[] = twilioLookUps.map(
  ({ asks, answers, found, ...more }) => ({
    ...more,
    asks: (call) => asSignalWire(asks(call)),
    answers: (call) => asSignalWire(answers(call)),
    found,
  }),
);

const queued = { date_created: "Sat, 21 Nov 2026 00:00:00 +0000", to: "+12025550123" };

/** A look-up with the directions and parents of SignalWire's specification (calls/models/core.tsp). */
export const signalwireDirections: LookUpFixture = {
  page: "github.com/signalwire/docs, specs/compatibility-api/calls/models/core.tsp",
  says: "`outbound` calls, and their child legs",
  asks: (call) => signalwireLookUps[0]?.asks(call) ?? [],
  answers: () => [
    { calls: [], next_page_uri: null },
    {
      calls: [
        { ...queued, sid: "ours", direction: "outbound", parent_call_sid: null },
        { ...queued, sid: "child", direction: "outbound", parent_call_sid: sid },
        { ...queued, sid: "called", direction: "inbound", parent_call_sid: null },
      ],
      next_page_uri: null,
    },
  ],
  found: { by: "number", providerCallIds: ["ours"] },
};

/** The look-up that is documented for SignalWire alone. */
export const signalwireOwnLookUps = signalwireLookUps
  .filter(({ says }) => says === "queued calls with a date, and a second page")
  .map((one) => ({
    ...one,
    page: "signalwire.com/docs/compatibility-api/rest/overview/paging",
    says: "a second page, at an address from the host's root",
  }));

const { list, ...results } = twilioResults;
export const signalwireResults: ResultsUnderTest = {
  ...results,
  fixtures: [
    ...results.fixtures,
    {
      page: "github.com/signalwire/docs, specs/compatibility-api/calls/models/core.tsp",
      says: "`completed`, with numbers",
      record: {
        status: "completed",
        duration: 42,
        end_time: "Sat, 21 Nov 2026 00:00:52 +0000",
        price: 0.003,
        price_unit: "USD",
      },
      result: {
        status: "completed",
        word: "completed",
        ...talk,
        cost: { amount: "0.003", currency: "USD" },
      },
    },
  ],
  asks: (id) => asSignalWire(results.asks(id)),
  ...(list && {
    list: {
      ...list,
      asks: (from: number) => asSignalWire(list.asks(from)),
      page: (rows: object[], hasMore: boolean) => asSignalWire(list.page(rows, hasMore)),
    },
  }),
};
