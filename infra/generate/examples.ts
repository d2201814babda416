/** Examples of the OpenAPI document. The bodies of events stand in docs/events.md too. */
import type { CallEventType } from "#shared/calls/call-event.ts";
import type { CallState } from "#shared/calls/states.ts";
import { toCallId } from "#shared/calls/ids.ts";
import type { ResultView } from "#shared/calls/view-schemas.ts";

export const requestIdExample = "01KAJ6Y5G0QZ3N4T7V8W9XABCD";

interface CallExample {
  /** Time of 21 November 2026. */
  at: string;
  index: number;
  state: CallState;
  reason: string;
  sequence?: number;
  attempt?: number;
  result?: ResultView;
}

function bodyOf(type: CallEventType, example: CallExample) {
  const { at, index, state, reason, sequence = 1, attempt = 1, result = null } = example;
  return {
    type,
    timestamp: `2026-11-21T${at}Z`,
    data: {
      id: toCallId(requestIdExample, index),
      request_id: requestIdExample,
      index,
      sequence,
      agent_id: "agent_sales",
      state,
      reason,
      attempt,
      result,
      echo: { lead_id: `L-${index + 1}` },
    },
  };
}

function withCallBack<Body extends { data: object }>({ data, ...body }: Body) {
  const call_back = {
    at: "2026-11-23T19:00:00.000Z",
    call_id: "call_01KAJ6Y5G0R9M2C6D1E4F7GHJ0_00000",
    by: "service",
    reason: null,
  } as const;
  return { ...body, data: { ...data, call_back } };
}

const answered: ResultView = {
  status: "live",
  human: null,
  word: null,
  answered_at: "2026-11-21T09:00:09.000Z",
  ended_at: null,
  seconds: null,
};
const ended: ResultView = {
  status: "completed",
  human: true,
  word: "completed",
  answered_at: "2026-11-21T09:00:09.000Z",
  ended_at: "2026-11-21T09:01:21.000Z",
  seconds: 72,
};

const placed = { index: 0, state: "PLACED", reason: "placed" } as const;

/** An example of each event's body: the events of the five calls of one request. */
export const eventExamples = {
  "call.placed": bodyOf("call.placed", { ...placed, at: "09:00:01.520" }),
  "call.answered": bodyOf("call.answered", {
    ...placed,
    at: "09:00:10.115",
    sequence: 2,
    result: answered,
  }),
  "call.opt_out": bodyOf("call.opt_out", { ...placed, at: "09:01:22.310", sequence: 3 }),
  "call.ended": bodyOf("call.ended", {
    ...placed,
    at: "09:01:22.340",
    sequence: 4,
    result: ended,
  }),
  "call.call_back": withCallBack(
    bodyOf("call.call_back", { ...placed, at: "09:03:22.412", sequence: 5 }),
  ),
  "call.rejected": bodyOf("call.rejected", {
    index: 1,
    at: "09:00:01.610",
    state: "REJECTED",
    reason: "http_404",
  }),
  "call.expired": bodyOf("call.expired", {
    index: 2,
    at: "09:00:00.480",
    state: "EXPIRED",
    reason: "hours:callingHours.default",
    attempt: 0,
  }),
  "call.cancelled": bodyOf("call.cancelled", {
    index: 3,
    at: "09:04:30.002",
    state: "CANCELLED",
    reason: "client",
    attempt: 0,
  }),
  "call.needs_review": bodyOf("call.needs_review", {
    index: 4,
    at: "09:05:32.700",
    state: "NEEDS_REVIEW",
    reason: "outcome_unknown",
  }),
  "call.reviewed": bodyOf("call.reviewed", {
    index: 4,
    at: "10:12:08.431",
    state: "PLACED",
    reason: "operator",
    sequence: 2,
  }),
  "request.finished": {
    type: "request.finished" as const,
    timestamp: "2026-11-21T09:06:04.218Z",
    data: {
      request_id: requestIdExample,
      accepted_at: "2026-11-21T09:00:00.000Z",
      total: 5,
      counts: {
        by_state: { PLACED: 1, REJECTED: 1, EXPIRED: 1, CANCELLED: 1, NEEDS_REVIEW: 1 },
        by_result: { completed: 1 },
      },
    },
  },
};

const leastCall = { phone_number: "+12025550123", agent_id: "agent_sales" };
/** A call with every field. */
export const callExample = {
  ...leastCall,
  context: { first_name: "Ada" },
  timezone: "America/New_York",
};
/** A batch of two calls. */
export const batchExample = [callExample, { ...leastCall, phone_number: "+12025550124" }];
