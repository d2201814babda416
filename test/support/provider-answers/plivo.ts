import type { AnswerFixture, LookUpFixture } from "#test/contracts/provider-bench.ts";
import type { DialOutcome, FoundCall } from "#shared/providers/provider.ts";

const overview = "docs.plivo.com/docs/voice/api/overview";
const api_id = "97ceeb52-58b6-11e1-86da-77300b68f8bb";
const uuid = "9834029e-58b6-11e1-b8b7-a5bd0e4e126f";
const created = (request_uuid: unknown) => ({ api_id, message: "call fired", request_uuid });
const refusal = (
  status: number,
  error: string,
  says: string,
  outcome: DialOutcome,
): AnswerFixture => ({
  page: `${overview}: ${says}`,
  says,
  status,
  text: error,
  body: { api_id, error },
  outcome,
});

export const plivoAnswers: AnswerFixture[] = [
  {
    page: "plivo 4.79, lib/rest/request-test.js: call fired",
    source: "example",
    says: "a call, perhaps in Plivo's queue",
    status: 201,
    body: created(uuid),
    outcome: { kind: "placed", providerCallId: uuid },
  },
  {
    page: "plivo 4.79, CreateCallResponse: a list",
    says: "a call, with its id in a list",
    status: 201,
    body: created([uuid]),
    outcome: { kind: "placed", providerCallId: uuid },
  },
  {
    page: "plivo 4.79, CreateCallResponse: two calls",
    says: "two calls instead of one",
    status: 201,
    body: created([uuid, "another"]),
    outcome: { kind: "unknown", code: "answer_unreadable" },
  },
  refusal(400, "answer_url parameter is missing", "a missing or invalid parameter", {
    kind: "rejected",
    code: "http_400",
  }),
  {
    page: `${overview}: 401`,
    says: "wrong credentials",
    status: 401,
    body: "Could not verify your access level for that URL.",
    outcome: { kind: "account_refused", code: "http_401" },
  },
  // The wording of the next ones is not published.
  refusal(403, "Geo Permissions are disabled for +12025550123", "a country that is not permitted", {
    kind: "rejected",
    code: "plivo_geo_permission",
  }),
  refusal(403, "forbidden", "a country or an account that is not permitted", {
    kind: "forbidden",
    code: "http_403",
  }),
  refusal(404, "not found", "a calling number or an account that is not known", {
    kind: "route_refused",
    code: "plivo_not_found",
  }),
  refusal(429, "too many requests", "too many requests, or calls in a second", {
    kind: "not_placed",
    code: "http_429",
  }),
  refusal(500, "server error", "a server's error, after which Plivo's own SDK calls again", {
    kind: "unknown",
    code: "http_500",
  }),
];

const headers = { authorization: `Basic ${Buffer.from("MA1:token_7").toString("base64")}` };
const calls = "/v1/Account/MA1/Call/";
const asked = (path: string) => ({ path: calls + path, headers });
const live = asked("?status=live&call_direction=outbound&from_number=12025550100");
const ended = (offset: number) =>
  asked(
    `?call_direction=outbound&from_number=12025550100&limit=20&offset=${offset}&end_time__gte=2026-11-20+23%3A59%3A57`,
  );
const none = { api_id, calls: [] };
const callApi = "docs.plivo.com/docs/voice/api/calls";

/** A call in progress, in the form of the SDK's example. */
const inProgress = (more: object = {}) => ({
  api_id,
  call_status: "in-progress",
  direction: "outbound",
  from: "12025550100",
  to: "12025550123",
  call_uuid: uuid,
  request_uuid: uuid,
  session_start: "2026-11-21 00:00:01.801193",
  ...more,
});
/** A call that has ended, in the form of the reference's example. */
const row = (call_uuid: string, more: object = {}) => ({
  answer_time: "2026-11-21 05:30:10+05:30",
  bill_duration: 42,
  call_direction: "outbound",
  call_uuid,
  end_time: "2026-11-21 05:30:52+05:30",
  from_number: "+12025550100",
  initiation_time: "2026-11-21 05:30:02+05:30",
  parent_call_uuid: null,
  to_number: "12025550123",
  hangup_cause_code: 4000,
  ...more,
});
const page = (objects: object[], next: string | null = null) => ({
  api_id,
  meta: { limit: 20, offset: 0, next, previous: null, total_count: objects.length },
  objects,
});
const placed: FoundCall = { by: "number", providerCallIds: [uuid] };

export const plivoLookUps: LookUpFixture[] = [
  {
    page: `${callApi}: ended`,
    says: "a call from our number to that number that began in that time and has ended",
    asks: () => [live, ended(0)],
    answers: () => [
      none,
      page([
        row("other-number", { to_number: "12025550124" }),
        row("second-leg", { parent_call_uuid: uuid }),
        row("too-late", { initiation_time: "2026-11-21 05:30:41+05:30" }),
        row("too-early", { initiation_time: "2026-11-21 05:29:57+05:30" }),
        row(uuid, { to_number: "+12025550123" }),
      ]),
    ],
    found: placed,
  },
  {
    page: `${callApi}: a second page`,
    says: "the same, on a second page",
    asks: () => [live, ended(0), ended(20)],
    answers: () => [
      none,
      page(
        [row("other", { to_number: "12025550124" })],
        "/v1/Account/MA1/Call/?limit=20&offset=20",
      ),
      page([row(uuid)]),
    ],
    found: placed,
  },
  {
    page: "plivo 4.79, GetLiveCallResponse: in progress",
    says: "a call in progress to that number, with the id of its request",
    asks: () => [
      live,
      asked("other-number/?status=live"),
      asked("second-leg/?status=live"),
      asked("older/?status=live"),
      asked(`${uuid}/?status=live`),
      ended(0),
    ],
    answers: () => [
      { api_id, calls: ["other-number", "second-leg", "older", uuid] },
      inProgress({ to: "12025550124" }),
      inProgress({ request_uuid: null }),
      inProgress({ request_uuid: "older", session_start: "2026-11-20 23:00:00.000000" }),
      inProgress(),
      page([]),
    ],
    found: placed,
  },
  {
    page: `${callApi}: between both lists`,
    says: "a call in progress that ends before the second list is read",
    asks: () => [live, asked(`${uuid}/?status=live`), ended(0)],
    answers: () => [{ api_id, calls: [uuid] }, inProgress(), page([row(uuid)])],
    found: placed,
  },
  {
    page: `${callApi}: two calls`,
    says: "two calls to the number",
    asks: () => [live, ended(0)],
    answers: () => [none, page([row(uuid), row("another")])],
    found: { by: "number", providerCallIds: [uuid, "another"] },
  },
  {
    page: `${callApi}: a time without a zone`,
    says: "a call to the number whose time has no zone",
    asks: () => [live, ended(0)],
    answers: () => [none, page([row(uuid, { initiation_time: "2026-11-21 00:00:02" })])],
    found: undefined,
  },
  {
    page: `${callApi}: none`,
    says: "no call",
    asks: () => [live, ended(0)],
    answers: () => [none, page([])],
    found: { by: "number", providerCallIds: [] },
  },
];
