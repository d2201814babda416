import type { AnswerFixture, LookUpFixture } from "#test/contracts/provider-bench.ts";
import type { DialOutcome, FoundCall } from "#shared/providers/provider.ts";

const voice = "github.com/Nexmo/api-specification, definitions/voice.yml";
const errors = "developer.vonage.com/en/api-errors";
const uuid = "63f61863-4a51-4f6b-86e1-46edebcf9356";
const conversation_uuid = "CON-f972836a-550f-45fa-956c-12a2ab5b7d22";

const problem = (
  status: number,
  fragment: string,
  says: string,
  outcome: DialOutcome,
): AnswerFixture => ({
  page: `${errors}: ${fragment}`,
  says: `\`${fragment}\`, ${says}`,
  status,
  body: {
    type: `https://developer.vonage.com/api-errors#${fragment}`,
    title: "Problem",
    detail: "This request could not be performed",
    instance: "bf0ca0bf927b3b52e3cb03217e1a1ddf",
  },
  outcome,
});
const ofAccount = (status: number, fragment: string, says: string): AnswerFixture =>
  problem(status, fragment, says, {
    kind: "account_refused",
    code: `vonage_${fragment.replaceAll("-", "_")}`,
  });
const invalid = (name: string, says: string, outcome: DialOutcome): AnswerFixture => ({
  page: `${errors}, \`invalid_parameters\`: ${name}`,
  says: `an invalid \`${name}\`${says}`,
  status: 400,
  body: { type: "400", title: "Bad Request", invalid_parameters: [{ name, reason: "is invalid" }] },
  outcome,
});

export const vonageAnswers: AnswerFixture[] = [
  {
    page: `${voice}: CreateCallResponse`,
    says: "a call",
    status: 201,
    body: { uuid, status: "started", direction: "outbound", conversation_uuid },
    outcome: { kind: "placed", providerCallId: uuid },
  },
  {
    page: "github.com/Vonage/vonage-go-sdk, voice tests: Unauthorized",
    says: "a wrong token",
    status: 401,
    body: { type: "UNAUTHORIZED", error_title: "Unauthorized" },
    outcome: { kind: "account_refused", code: "http_401" },
  },
  problem(401, "jwt-expired", "a token that has expired", {
    kind: "account_refused",
    code: "http_401",
  }),
  problem(402, "low-balance", "no money left", { kind: "account_refused", code: "http_402" }),
  ofAccount(403, "low-balance", "also as a 403"),
  ofAccount(403, "out-of-credit", "the example of the reference"),
  ofAccount(403, "unprovisioned", "no access to this product"),
  ofAccount(403, "account-suspended", "a suspended account"),
  problem(403, "forbidden", "which may be about a destination", {
    kind: "forbidden",
    code: "http_403",
  }),
  problem(404, "not-found", "an unknown address", { kind: "rejected", code: "http_404" }),
  {
    page: "developer.vonage.com/en/voice/voice-api/guides/troubleshooting: Capacity",
    says: "more than three calls a second",
    status: 429,
    body: {
      type: "https://developer.vonage.com/api-errors#throttled",
      title: "Rate Limit Hit",
      detail: "Please wait, then retry your request",
    },
    outcome: { kind: "not_placed", code: "http_429" },
  },
  invalid("to", "", { kind: "rejected", code: "vonage_to", blamesNumber: true }),
  invalid("to[0].number", "", { kind: "rejected", code: "vonage_to", blamesNumber: true }),
  invalid("from", "", { kind: "route_refused", code: "vonage_from" }),
  invalid("from.number", "", { kind: "route_refused", code: "vonage_from" }),
  invalid("answer_url", "", { kind: "route_refused", code: "vonage_answer_url" }),
  invalid("ringing_timer", "", { kind: "route_refused", code: "vonage_ringing_timer" }),
  invalid("event_url", ", our own address", { kind: "account_refused", code: "vonage_event_url" }),
  invalid("ncco", ", which holds the context", { kind: "rejected", code: "http_400" }),
  {
    page: "github.com/Vonage/vonage-node-sdk/issues/133, users",
    says: "an older form, without the parameters' names",
    status: 400,
    body: { type: 400, title: "Bad Request", invalid_parameters: [["talk"]] },
    outcome: { kind: "rejected", code: "http_400" },
  },
];

/** Answers to a look-up carry a token that differs each time, so tests of the token are elsewhere. */
const asked = (path: string) => ({ path, headers: {} });
const pathFrom = (index: number) =>
  `/v1/calls?date_start=2026-11-20T23%3A59%3A57Z&date_end=2026-11-21T00%3A00%3A41Z&page_size=100&record_index=${index}&order=asc`;
const phone = (number: string) => ({ type: "phone", number });
/** A call as in the example of the reference, before its end. */
const row = (id: string, more: object = {}) => ({
  _links: { self: { href: `/calls/${id}` } },
  uuid: id,
  conversation_uuid,
  to: phone("12025550123"),
  from: phone("12025550100"),
  status: "ringing",
  direction: "outbound",
  ...more,
});
const page = (calls: object[], more: object = {}) => ({
  count: calls.length,
  page_size: 100,
  record_index: 0,
  _links: { self: { href: "/calls?page_size=100&record_index=0&order=asc" } },
  _embedded: { calls },
  ...more,
});
const placed: FoundCall = { by: "number", providerCallIds: [uuid] };

export const vonageLookUps: LookUpFixture[] = [
  {
    page: `${voice}: GetCallsResponse`,
    says: "a call from our number to that number in that time",
    asks: () => [asked(pathFrom(0))],
    answers: () => [
      page([
        row("other-number", { to: phone("12025550124") }),
        row("other-caller", { from: phone("12025550101") }),
        row("incoming", { direction: "inbound" }),
        row("websocket", { to: { type: "websocket", uri: "wss://example.com/audio" } }),
        row("earlier", { status: "completed", start_time: "2026-11-20 23:50:00" }),
        row(uuid, { status: "completed", start_time: "2026-11-21 00:00:10" }),
      ]),
    ],
    found: placed,
  },
  {
    page: "github.com/Vonage/vonage-php-sdk-core, test/Voice/responses/search.json",
    says: "the same, with both sides in lists",
    asks: () => [asked(pathFrom(0))],
    answers: () => [
      page([row(uuid, { to: [phone("12025550123")], from: [phone("12025550100")] })]),
    ],
    found: placed,
  },
  {
    page: "@vonage/voice 1.24.1, getAllCalls: the link of a next page",
    says: "the same, on a second page by its link",
    asks: () => [asked(pathFrom(0)), asked(pathFrom(100))],
    answers: () => [
      page([row("other", { to: phone("12025550124") })], {
        _links: { next: { href: "https://api.nexmo.com/v1/calls?page_size=100&record_index=100" } },
      }),
      page([row(uuid)], { record_index: 100 }),
    ],
    found: placed,
  },
  {
    page: `${voice}: count`,
    says: "the same, on a second page by the count alone",
    asks: () => [asked(pathFrom(0)), asked(pathFrom(2))],
    answers: () => [
      page([row("one", { to: phone("12025550124") }), row("two", { to: phone("12025550124") })], {
        count: 3,
      }),
      page([row(uuid)], { count: 3, record_index: 2 }),
    ],
    found: placed,
  },
  {
    page: `${voice}: two calls`,
    says: "two calls to the number",
    asks: () => [asked(pathFrom(0))],
    answers: () => [page([row(uuid), row("another", { status: "busy" })])],
    found: { by: "number", providerCallIds: [uuid, "another"] },
  },
  {
    page: `${voice}: direction`,
    says: "a call to the number without a direction",
    asks: () => [asked(pathFrom(0))],
    answers: () => [page([row(uuid), row("another", { direction: null })])],
    found: undefined,
  },
  {
    page: `${voice}: date_start`,
    says: "a call of an earlier day in the list, whose filters then were not applied",
    asks: () => [asked(pathFrom(0))],
    answers: () => [
      page([
        row("old", { to: phone("12025550124"), start_time: "2026-11-19 23:00:00" }),
        row(uuid),
      ]),
    ],
    found: undefined,
  },
  {
    page: `${voice}: none`,
    says: "no call",
    asks: () => [asked(pathFrom(0))],
    answers: () => [page([])],
    found: { by: "number", providerCallIds: [] },
  },
];
