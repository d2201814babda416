import { describe, expect, it } from "vitest";
import { parseRoute } from "../../../shared/providers/index.ts";
import { describeProvider } from "../../contracts/provider.ts";

const headers = { authorization: "org_1", "content-type": "application/json" };
const secrets = { BLAND_API_KEY: "org_1" };
const pathway = "a0f0d4ed-f5f5-4f16-b3f9-22166594d7a7";
const send = "docs.bland.ai/api-v1/post/calls";
const list = "docs.bland.ai/api-v1/get/calls";
const details = "docs.bland.ai/api-v1/get/calls-id";
const callId = "9d404c1b-6a23-4426-953a-a52c392ff8f1";

const refusal = (
  status: number,
  message: string,
  outcome: Parameters<typeof describeProvider>[0]["fixtures"][number]["outcome"],
) => ({ page: `${send}: ${message}`, status, body: { status: "error", message }, outcome });

const listPath = (from: number) =>
  "/v1/calls?from_number=%2B12025550100&start_date=2026-11-19&end_date=2026-11-22" +
  `&ascending=false&from=${from}&limit=200`;
const asked = (path: string) => ({ path, headers: { authorization: "org_1" } });
/** A row of the list, as in the example of its page. */
const row = (call_id: string, more: object = {}) => ({
  call_id,
  created_at: "2026-11-21T00:00:01.801193+00:00",
  call_length: 0.834,
  to: "+12025550123",
  from: "+12025550100",
  completed: true,
  queue_status: "complete",
  error_message: null,
  answered_by: "human",
  batch_id: null,
  ...more,
});
const detailsOf = (call_id: string, id: string, more: object = {}) => ({
  ...row(call_id),
  inbound: false,
  metadata: { call_id: id, attempt: "1" },
  ...more,
});

describeProvider({
  type: "bland",
  fields: { pathway, from: "+12025550100" },
  secrets,
  requests: ({ id, request }) => [
    {
      path: "/v1/calls",
      headers,
      body: {
        phone_number: request.phone_number,
        pathway_id: pathway,
        from: "+12025550100",
        request_data: request.context,
        metadata: { call_id: id, attempt: "1" },
      },
    },
  ],
  fixtures: [
    {
      page: send,
      status: 200,
      body: {
        status: "success",
        message: "Call successfully queued.",
        call_id: callId,
        batch_id: null,
      },
      outcome: { kind: "placed", providerCallId: callId },
    },
    {
      page: `${send}, an error with the status of a success`,
      status: 200,
      body: { status: "error", message: "Something went wrong", call_id: callId },
      outcome: { kind: "unknown", code: "answer_unreadable" },
    },
    refusal(429, "Calls can only be sent every 10 seconds to the same number.", {
      kind: "not_placed",
      code: "bland_same_number",
    }),
    refusal(429, "Rate limit exceeded for newly created accounts.", {
      kind: "not_placed",
      code: "http_429",
    }),
    // The wording of the next ones is not published.
    refusal(429, "The phone number +12025550123 is blacklisted.", {
      kind: "rejected",
      code: "bland_blacklisted",
      blamesNumber: true,
    }),
    refusal(429, "You have been blacklisted.", { kind: "forbidden", code: "bland_blacklisted" }),
    refusal(400, "Insufficient balance to send this call.", {
      kind: "account_refused",
      code: "bland_balance",
    }),
    refusal(400, "Invalid parameters", { kind: "rejected", code: "http_400" }),
    refusal(401, "Unauthorized", { kind: "account_refused", code: "http_401" }),
    {
      page: "docs.bland.ai/api-v1/post/sms-send, the newer form of errors",
      status: 429,
      body: { data: null, errors: [{ error: "X", message: "Number blacklisted" }] },
      outcome: { kind: "rejected", code: "bland_blacklisted", blamesNumber: true },
    },
    {
      page: `${send}, errors of another form`,
      status: 429,
      body: { status: "error", message: "Number blacklisted", errors: ["phone_number"] },
      outcome: { kind: "rejected", code: "bland_blacklisted", blamesNumber: true },
    },
  ],
  lookUps: [
    {
      page: `${list} and ${details}`,
      asks: () => [
        asked(listPath(0)),
        asked("/v1/calls/other-call"),
        asked("/v1/calls/other-attempt"),
        asked("/v1/calls/never-queued"),
        asked(`/v1/calls/${callId}`),
      ],
      answers: ({ id }) => [
        {
          count: 7,
          calls: [
            row("too-late", { created_at: "2026-11-21T00:00:40.100+00:00" }),
            row("other-number", { to: "+12025550124" }),
            row("other-call"),
            row("other-attempt"),
            row("never-queued"),
            row(callId, { to: "2025550123" }),
            row("too-early", { created_at: "2026-11-20T23:59:57.000+00:00" }),
          ],
        },
        detailsOf("other-call", "call_other"),
        detailsOf("other-attempt", id, { metadata: { call_id: id, attempt: "2" } }),
        detailsOf("never-queued", id, { queue_status: "queue_error" }),
        detailsOf(callId, id),
      ],
      found: { by: "id", providerCallId: callId },
    },
    {
      page: `${list}, on a second page`,
      asks: () => [asked(listPath(0)), asked(listPath(200)), asked(`/v1/calls/${callId}`)],
      answers: ({ id }) => [
        { calls: Array.from({ length: 200 }, () => row("other", { to: "+12025550124" })) },
        { calls: [row(callId)] },
        detailsOf(callId, id),
      ],
      found: { by: "id", providerCallId: callId },
    },
    {
      page: `${list}, a whole page of calls before that time`,
      asks: () => [asked(listPath(0))],
      answers: () => [
        {
          calls: Array.from({ length: 200 }, (_, n) =>
            row(`earlier-${n}`, { created_at: "2026-11-20T20:00:00+00:00" }),
          ),
        },
      ],
      found: undefined,
    },
    {
      page: `${details}, without metadata`,
      asks: () => [asked(listPath(0)), asked(`/v1/calls/${callId}`)],
      answers: () => [{ calls: [row(callId)] }, { ...row(callId), metadata: null }],
      found: undefined,
    },
  ],
});

describeProvider({
  type: "bland",
  title: "bland with a task, from a number of its own",
  fields: { task: "Ask {{first_name}} about the appointment." },
  secrets,
  requests: ({ id, request }) => [
    {
      path: "/v1/calls",
      headers,
      body: {
        phone_number: request.phone_number,
        task: "Ask {{first_name}} about the appointment.",
        request_data: request.context,
        metadata: { call_id: id, attempt: "1" },
      },
    },
  ],
  fixtures: [],
  lookUps: [
    {
      page: `${list}, from any number`,
      asks: () => [asked(listPath(0).replace("from_number=%2B12025550100&", ""))],
      answers: () => [{ calls: [] }],
      found: undefined,
    },
  ],
});

describe("bland", () => {
  it.each([[{}], [{ pathway, task: "Ask." }], [{ pathway, from: "2025550100" }]])(
    "is refused the route fields %j",
    (fields) => {
      expect(parseRoute({ provider: "bland", ...fields }, { type: "bland" })).toHaveProperty(
        "issues",
      );
    },
  );
});
