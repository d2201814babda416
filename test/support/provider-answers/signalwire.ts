import type {
  AnswerFixture,
  LookUpFixture,
  ResultsUnderTest,
} from "#test/contracts/provider-bench.ts";
import { twilioResults } from "../provider-results/twilio.ts";
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

/** Answers with Twilio's numbers, which have Twilio's meaning. */
export const signalwireAsTwilio: AnswerFixture[] = twilioAnswers.map(asSignalWire);

export const signalwireLookUps: LookUpFixture[] = twilioLookUps.map(
  ({ asks, answers, found, ...more }) => ({
    ...more,
    asks: (call) => asSignalWire(asks(call)),
    answers: (call) => asSignalWire(answers(call)),
    found,
  }),
);

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
  asks: (id) => asSignalWire(results.asks(id)),
  ...(list && {
    list: {
      ...list,
      asks: (from: number) => asSignalWire(list.asks(from)),
      page: (rows: object[], hasMore: boolean) => asSignalWire(list.page(rows, hasMore)),
    },
  }),
};
