import type { DialOutcome } from "../../../shared/providers/dialing-provider.ts";
import { describeProvider, sought } from "../../contracts/provider.ts";

const fields = { connection: "1494404757140276705", from: "+12025550100" };
const secrets = { TELNYX_API_KEY: "key_4" };
const headers = { authorization: "Bearer key_4", "content-type": "application/json" };

/** Codes and titles of developers.telnyx.com/development/api-fundamentals, errors and limits. */
const error = (
  status: number,
  one: { code: string; title: string; detail?: string; source?: { pointer: string } },
  outcome: DialOutcome,
) => ({
  page: `developers.telnyx.com, errors: ${one.code} ${one.title} ${one.source?.pointer ?? ""}`,
  status,
  body: { errors: [one] },
  outcome,
});
const fixtures = [
  {
    page: "developers.telnyx.com/api-reference/call-commands/dial",
    status: 200,
    body: {
      data: {
        call_control_id: "v3:MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2axZ_IiE4pqg",
        call_leg_id: "428c31b6-7af4-4bcb-b7f5-5013ef9657c1",
        call_session_id: "428c31b6-7af4-4bcb-b7f5-5013ef9657c1",
        is_alive: false,
        record_type: "call",
      },
    },
    outcome: {
      kind: "placed",
      providerCallId: "v3:MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2axZ_IiE4pqg",
    } as const,
  },
  error(
    429,
    {
      code: "10011",
      title: "Too many requests",
      detail: "You have exceeded the maximum number of allowed requests.",
    },
    { kind: "not_placed", code: "http_429" },
  ),
  error(
    429,
    { code: "90103", title: "Dials per second limit" },
    { kind: "not_placed", code: "http_429" },
  ),
  error(
    403,
    { code: "90010", title: "Dial failed", detail: "User channel limit exceeded D1" },
    { kind: "not_placed", code: "concurrency_limit" },
  ),
  error(
    403,
    { code: "10010", title: "Authorization failed" },
    { kind: "forbidden", code: "http_403" },
  ),
  error(
    403,
    {
      code: "10010",
      title: "Authorization failed",
      detail: "Dialed number is not included in whitelisted countries D13",
    },
    { kind: "rejected", code: "telnyx_d13", blamesNumber: true },
  ),
  error(
    403,
    { code: "10010", title: "Authorization failed", detail: "Connection is disabled D16." },
    { kind: "route_refused", code: "telnyx_d16" },
  ),
  error(
    403,
    { code: "10010", title: "Authorization failed", detail: "Account is blocked D17" },
    { kind: "account_refused", code: "telnyx_d17" },
  ),
  error(
    403,
    { code: "10010", title: "Authorization failed", detail: "Rate limit D10" },
    { kind: "not_placed", code: "telnyx_d10" },
  ),
  {
    page: "Telnyx's runbook of SIP response codes: the D-code in a field of its own",
    status: 403,
    body: {
      errors: [{ code: "10010", title: "Authorization failed", detail: "Refused" }],
      telnyx_error: { error_code: "D13" },
    },
    outcome: { kind: "rejected", code: "telnyx_d13", blamesNumber: true } as const,
  },
  error(403, { code: "90020", title: "No" }, { kind: "forbidden", code: "http_403" }),
  error(
    401,
    { code: "10009", title: "Authentication failed" },
    { kind: "account_refused", code: "http_401" },
  ),
  error(
    422,
    { code: "10016", title: "Phone number must be in +E164 format", source: { pointer: "/to" } },
    { kind: "rejected", code: "telnyx_10016" },
  ),
  error(
    422,
    { code: "10016", title: "Phone number must be in +E164 format", source: { pointer: "/from" } },
    { kind: "route_refused", code: "telnyx_10016" },
  ),
  error(
    404,
    { code: "10005", title: "Resource not found", source: { pointer: "/connection_id" } },
    { kind: "route_refused", code: "telnyx_10005" },
  ),
  error(400, { code: "10015", title: "Bad Request" }, { kind: "rejected", code: "telnyx_10015" }),
  error(408, { code: "10008", title: "Request timeout" }, { kind: "unknown", code: "http_408" }),
  error(500, { code: "10007", title: "Unexpected error" }, { kind: "unknown", code: "http_500" }),
];

/** Returns the request for a page of call events. The called number appears in no URL. */
const eventsOf = () => {
  const query = new URLSearchParams({
    "filter[connection_id]": fields.connection,
    "filter[from]": fields.from,
    "filter[type]": "webhook",
    "filter[occurred_at][gte]": new Date(sought.from).toISOString(),
    "page[number]": "1",
    "page[size]": "250",
  });
  const asked = { authorization: "Bearer key_4" };
  return { path: `/v2/call_events?${query.toString()}`, headers: asked };
};
const eventOf = (callId: string, call_control_id: string) => ({
  record_type: "call_event",
  name: "call.initiated",
  type: "webhook",
  event_timestamp: "2026-11-21T00:00:03.127783Z",
  metadata: {
    event_type: "call.initiated",
    payload: {
      call_control_id,
      client_state: Buffer.from(JSON.stringify({ call_id: callId })).toString("base64"),
    },
  },
});

const read = (text: string): unknown => {
  const { client_state, ...body }: { client_state: string } = JSON.parse(text);
  return { ...body, client_state: JSON.parse(Buffer.from(client_state, "base64").toString()) };
};

describeProvider({
  type: "telnyx",
  title: "telnyx with an AI assistant",
  fields: { ...fields, agent: "assistant-9" },
  secrets,
  read,
  requests: ({ id, request }) => [
    {
      path: "/v2/calls",
      headers,
      body: {
        connection_id: "1494404757140276705",
        from: "+12025550100",
        to: request.phone_number,
        command_id: `${id}-1`,
        client_state: { call_id: id },
        assistant: { id: "assistant-9", dynamic_variables: request.context },
      },
    },
  ],
  fixtures,
  lookUps: [
    {
      page: "developers.telnyx.com/api-reference/debugging/list-call-events",
      asks: () => [eventsOf()],
      answers: ({ id }) => [{ data: [eventOf("call_other", "v3:other"), eventOf(id, "v3:ours")] }],
      found: { by: "id", providerCallId: "v3:ours" },
    },
    {
      page: "developers.telnyx.com/api-reference/debugging/list-call-events, of another application",
      asks: () => [eventsOf()],
      answers: () => [
        {
          data: [
            { name: "call.hangup", type: "webhook", metadata: {} },
            { name: "call.initiated", type: "webhook", metadata: { client_state: "not ours" } },
          ],
        },
      ],
      found: undefined,
    },
  ],
});

describeProvider({
  type: "telnyx",
  title: "telnyx with an application",
  fields,
  secrets,
  read,
  requests: ({ id, request }) => [
    {
      path: "/v2/calls",
      headers,
      body: {
        connection_id: "1494404757140276705",
        from: "+12025550100",
        to: request.phone_number,
        command_id: `${id}-1`,
        client_state: { call_id: id, agent_id: request.agent_id, context: request.context },
      },
    },
  ],
  fixtures,
});
