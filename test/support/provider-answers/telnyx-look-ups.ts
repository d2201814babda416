import { type LookUpFixture, sought } from "#test/contracts/provider-bench.ts";

const headers = { authorization: "Bearer key_4" };
const connection = "1494404757140276705";
const stateOf = (callId: string) =>
  Buffer.from(JSON.stringify({ call_id: callId })).toString("base64");

/** Returns the request for a page of call events. The called number appears in no URL. */
const events = (page: number) => {
  const query = new URLSearchParams({
    "filter[connection_id]": connection,
    "filter[from]": "+12025550100",
    "filter[type]": "webhook",
    "filter[occurred_at][gte]": new Date(sought.from).toISOString(),
    "page[number]": String(page),
    "page[size]": "250",
  });
  return { path: `/v2/call_events?${query.toString()}`, headers };
};
const active = (after?: string) => {
  const query = new URLSearchParams({ "page[limit]": "250" });
  if (after !== undefined) query.set("page[after]", after);
  return { path: `/v2/connections/${connection}/active_calls?${query.toString()}`, headers };
};
const eventOf = (callId: string, call_control_id: string) => ({
  record_type: "call_event",
  name: "call.initiated",
  type: "webhook",
  event_timestamp: "2026-11-21T00:00:03.127783Z",
  metadata: {
    event_type: "call.initiated",
    payload: { call_control_id, client_state: stateOf(callId) },
  },
});
const activeOf = (callId: string, call_control_id: string) => ({
  call_control_id,
  call_leg_id: "2dc6fc34-f9e0-11ea-b68e-02420a0f7768",
  client_state: stateOf(callId),
  call_duration: 50,
  record_type: "call",
});
const eventsPage = "developers.telnyx.com/api-reference/debugging/list-call-events";
const activePage =
  "developers.telnyx.com/api-reference/call-information/list-all-active-calls-for-given-connection";

export const telnyxLookUps: LookUpFixture[] = [
  {
    page: eventsPage,
    says: "an event with our `client_state`",
    asks: () => [events(1)],
    answers: ({ id }) => [{ data: [eventOf("call_other", "v3:other"), eventOf(id, "v3:ours")] }],
    found: { by: "id", providerCallId: "v3:ours" },
  },
  {
    page: `${eventsPage}, on a second page`,
    says: "an event with our `client_state`, on a second page",
    asks: () => [events(1), events(2)],
    answers: ({ id }) => [
      { data: Array.from({ length: 250 }, () => eventOf("call_other", "v3:other")) },
      { data: [eventOf(id, "v3:ours")] },
    ],
    found: { by: "id", providerCallId: "v3:ours" },
  },
  {
    page: activePage,
    says: "no event yet, but an active call with our `client_state`",
    asks: () => [events(1), active()],
    answers: ({ id }) => [
      { data: [] },
      { data: [activeOf("call_other", "v3:other"), activeOf(id, "v3:ours")], meta: {} },
    ],
    found: { by: "id", providerCallId: "v3:ours" },
  },
  {
    page: `${activePage}, on a second page`,
    says: "an active call with our `client_state`, on a second page",
    asks: () => [events(1), active(), active("v1:g3Q/2==")],
    answers: ({ id }) => [
      { data: [] },
      {
        data: [activeOf("call_other", "v3:other")],
        meta: { cursors: { after: "v1:g3Q/2==" }, total_items: 2 },
      },
      { data: [activeOf(id, "v3:ours")], meta: { cursors: { after: null } } },
    ],
    found: { by: "id", providerCallId: "v3:ours" },
  },
  {
    page: `${eventsPage}, of another application`,
    says: "only another application's state",
    asks: () => [events(1), active()],
    answers: () => [
      {
        data: [
          { name: "call.hangup", type: "webhook", metadata: {} },
          { name: "call.initiated", type: "webhook", metadata: { client_state: "not ours" } },
        ],
      },
      { data: [{ call_control_id: "v3:other", client_state: "aGF2ZSBhIG5pY2UgZGF5ID1d" }] },
    ],
    found: undefined,
  },
];
