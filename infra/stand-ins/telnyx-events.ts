import { createHash } from "node:crypto";
import type { StandInCall } from "./calls.ts";
import type { Memory } from "./endpoint.ts";
import { isoOf, progressOf } from "./life.ts";

const causes = {
  completed: "normal_clearing",
  voicemail: "normal_clearing",
  no_answer: "timeout",
  busy: "user_busy",
};

/** Returns the fields of a call's leg. */
export function legOf({ id, request, at }: StandInCall) {
  const hash = createHash("sha256").update(id).digest("hex");
  return {
    record_type: "call",
    call_control_id: id,
    call_leg_id: hash.slice(0, 32),
    call_session_id: hash.slice(32),
    client_state: request["client_state"] ?? null,
    start_time: isoOf(at),
  };
}

/**
 * Returns the webhooks of a call's life, as the list of events repeats them, oldest first. Who has answered is reported
 * where the request asks for it.
 */
export function eventsOf(call: StandInCall, memory: Memory) {
  const { record_type: _, start_time: _start, ...leg } = legOf(call);
  const { connection_id, from, answering_machine_detection: detection } = call.request;
  const event = (name: string, time: number, more: object = {}) => ({
    record_type: "call_event",
    name,
    type: "webhook",
    call_leg_id: leg.call_leg_id,
    call_session_id: leg.call_session_id,
    event_timestamp: isoOf(time),
    metadata: {
      data: {
        event_type: name,
        occurred_at: isoOf(time),
        record_type: "event",
        payload: { ...leg, connection_id, from, to: call.number, ...more },
      },
    },
  });
  const { fate, answeredAt, endedAt } = progressOf(call, memory);
  const isPremium = detection === "premium";
  const name = isPremium ? "call.machine.premium.detection.ended" : "call.machine.detection.ended";
  const person = isPremium ? "human_residence" : "human";
  const result = fate === "voicemail" ? "machine" : person;
  const isDetected = detection !== undefined && detection !== "disabled";
  return [
    event("call.initiated", call.at, { state: "bridging" }),
    ...(answeredAt === undefined
      ? []
      : [event("call.answered", answeredAt, { state: "answered" })]),
    ...(answeredAt === undefined || !isDetected ? [] : [event(name, answeredAt, { result })]),
    ...(endedAt === undefined
      ? []
      : [event("call.hangup", endedAt, { state: "hangup", hangup_cause: causes[fate] })]),
  ];
}
