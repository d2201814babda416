import type { ResultStatus } from "#shared/calls/call-result.ts";
import type { ResultFixture, ResultsUnderTest } from "#test/contracts/provider-bench.ts";
import { answered, ended, talk } from "./talk.ts";

const headers = { authorization: "Bearer key_4" };
const page = "developers.telnyx.com/api-reference/callbacks/call-hangup";
const sdk = "telnyx-node, CallHangup";
const detection = "telnyx-node, CallMachineDetectionEnded";
const premium = "telnyx-node, CallMachinePremiumDetectionEnded";

const without = (hangup_cause: string, status: ResultStatus, source = page): ResultFixture => ({
  page: source,
  says: `\`${hangup_cause}\``,
  record: { ended, hangup_cause },
  result: { status, word: hangup_cause, endedAt: talk.endedAt },
});
/** A cause that says nothing of an answer, with and without one. */
const either = (hangup_cause: string): ResultFixture[] => [
  {
    page,
    says: `\`${hangup_cause}\`, after \`call.answered\``,
    record: { answered, ended, hangup_cause },
    result: { status: "completed", word: hangup_cause, ...talk },
  },
  {
    ...without(hangup_cause, "unknown"),
    says: `\`${hangup_cause}\`, without \`call.answered\``,
  },
];
const by = (result: string, human: boolean | null, source: string): ResultFixture => ({
  page: source,
  says: `\`normal_clearing\`, \`result: ${result}\`${source === premium ? ", premium" : ""}`,
  record: {
    answered,
    ended,
    hangup_cause: "normal_clearing",
    detection: source === premium ? "call.machine.premium." : "call.machine.",
    result,
  },
  result: {
    status: human === false ? "voicemail" : "completed",
    human,
    word: "normal_clearing",
    ...talk,
  },
});

const fixtures: ResultFixture[] = [
  {
    page: "developers.telnyx.com/api-reference/call-information/retrieve-a-call-status",
    says: "`is_alive: true`",
    record: { is_alive: true },
    result: { status: "live" },
  },
  without("timeout", "no_answer"),
  without("no_answer", "no_answer", sdk),
  without("user_busy", "busy"),
  without("call_rejected", "declined"),
  without("not_found", "invalid"),
  without("originator_cancel", "failed"),
  ...either("normal_clearing"),
  ...either("time_limit"),
  ...either("unspecified"),
  by("human", true, detection),
  by("machine", false, detection),
  by("not_sure", null, detection),
  by("human_residence", true, premium),
  by("human_business", true, premium),
  by("machine", false, premium),
  by("fax_detected", false, premium),
  by("silence", null, premium),
  by("not_sure", null, premium),
];

const stateOf = (call_id: string) => Buffer.from(JSON.stringify({ call_id })).toString("base64");

/** Returns a call's webhooks, as the list of events repeats them. */
export function telnyxEvents(record: Record<string, unknown>, client_state: string | null) {
  const ids = { call_control_id: "provider-1", client_state };
  const event = (name: unknown, event_timestamp: unknown, more: object = {}) => ({
    record_type: "call_event",
    type: "webhook",
    name,
    event_timestamp,
    metadata: { data: { event_type: name, payload: { ...ids, ...more } } },
  });
  const { answered: at, detection: kind, result, ended: end, hangup_cause } = record;
  return [
    event("call.initiated", "2026-11-21T00:00:00Z"),
    event("call.hangup", ended, { call_control_id: "another", hangup_cause: "user_busy" }),
    ...(at === undefined ? [] : [event("call.answered", at)]),
    ...(typeof kind === "string" ? [event(`${kind}detection.ended`, at, { result })] : []),
    ...(end === undefined ? [] : [event("call.hangup", end, { hangup_cause })]),
  ];
}

export const telnyxResults: ResultsUnderTest = {
  fixtures,
  asks: (id) => [
    { path: `/v2/calls/${id}`, headers },
    {
      path:
        "/v2/call_events?filter%5Bleg_id%5D=leg-1&filter%5Btype%5D=webhook" +
        "&page%5Bnumber%5D=1&page%5Bsize%5D=250",
      headers,
    },
  ],
  answers: (record, { id }) => {
    const { is_alive = false, ...events } = { is_alive: undefined, ...record };
    return [
      { data: { call_leg_id: "leg-1", is_alive, client_state: stateOf(id) } },
      { data: telnyxEvents(events, stateOf(id)) },
    ];
  },
  unmapped: (hangup_cause) => ({
    answered: { answered, ended, hangup_cause },
    unanswered: { ended, hangup_cause },
  }),
  proof: { answered },
  tells: ["id"],
};
