import * as z from "../lib/zod.ts";
import { resultStatuses } from "./call-result.ts";
import { callBackSchema } from "./tries.ts";
import { dayMs, hourMs, minuteMs } from "../lib/units.ts";

/** Types of the events of one call. */
const callEventTypes = [
  "call.placed",
  "call.answered",
  "call.ended",
  "call.rejected",
  "call.expired",
  "call.cancelled",
  "call.needs_review",
  "call.reviewed",
  "call.opt_out",
  "call.call_back",
] as const;
export type CallEventType = (typeof callEventTypes)[number];

/** Types of all events, as the dial plan names them. */
export const eventTypes = [...callEventTypes, "request.finished"] as const;

/** State of one event's delivery, as stored. Times are milliseconds since the epoch. */
export const deliveryFields = {
  /** Number of failed tries. Absent: none. */
  tries: z.optional(z.number()),
  /** Time of the next try. Absent: the event was delivered, or its tries are exhausted. */
  dueAt: z.optional(z.number()),
  /** True once the event's tries are exhausted. */
  exhausted: z.optional(z.boolean()),
};

/** State of one event's delivery: see `deliveryFields`. */
export interface DeliveryState {
  tries?: number | undefined;
  dueAt?: number | undefined;
  exhausted?: boolean | undefined;
}

/**
 * An event of a call as its row stores it, from which a repeated delivery makes the same body. The event's id is the
 * call's id, a dot and the sequence.
 */
export const callEventSchema = z.looseObject({
  ...deliveryFields,
  /** A type of `callEventTypes`, or one that only a later version knows. */
  type: z.string(),
  /** Number of the event among its call's events, from 1. */
  sequence: z.number(),
  /** Time of the event. */
  at: z.number(),
  /** State, reason and attempt of the call at that time. */
  state: z.string(),
  reason: z.string(),
  attempt: z.number(),
  /** `call.ended`: the status of the result. */
  status: z.optional(z.enum(resultStatuses)),
  /** `call.answered` and `call.ended`: time of the answer, if known. */
  answeredAt: z.optional(z.number()),
  /** Number of tries that could still follow, for an agent with `retry`. */
  triesLeft: z.optional(z.number()),
  /** `call.ended` and `call.call_back`: the outcome of the callee's wish to be called back, if it was known. */
  callBack: z.optional(callBackSchema),
  /** `request.finished` in the row of a request's first call, for own receivers alone: the body's `data`. */
  data: z.optional(z.record(z.string(), z.unknown())),
  /** Deliveries to the client's own receivers, by their names. Absent: none of them gets the event. */
  to: z.optional(z.record(z.string(), z.looseObject(deliveryFields))),
  /** True if the dial plan's receiver does not get the event. */
  clientReceiversOnly: z.optional(z.boolean()),
});
export type CallEvent = z.infer<typeof callEventSchema>;

/** Waits after each failed try (Standard Webhooks): ten tries, the last one after three days. */
const waitsMs = [
  5_000,
  5 * minuteMs,
  30 * minuteMs,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
];
/** Longest wait that a receiver may ask for. */
const retryAfterMsMax = dayMs;

/** Result of one try to deliver an event. */
export type DeliveryOutcome =
  | { kind: "taken" }
  /** `retryAfterMs`: the receiver's Retry-After. */
  | { kind: "failed"; retryAfterMs?: number | undefined }
  /** A circuit breaker's probe failed, which does not count as a try. */
  | { kind: "deferred" };

/** Result of one try, and the due time because of which it was made. */
export interface Tried {
  outcome: DeliveryOutcome;
  dueAt: number;
}

/**
 * True if a try counts. A failed try counts only while the due time is unchanged, so that two deliveries that try an
 * event at the same moment count as one try.
 */
export function isCounted({ dueAt }: DeliveryState, { outcome, ...tried }: Tried): boolean {
  return dueAt !== undefined && (outcome.kind === "taken" || dueAt === tried.dueAt);
}

/** Returns the state of a delivery after a try at `now`. */
export function applyDelivery(
  { tries = 0, dueAt }: DeliveryState,
  outcome: DeliveryOutcome,
  now: number,
): DeliveryState {
  if (outcome.kind === "taken") return { tries: undefined, dueAt: undefined, exhausted: undefined };
  if (outcome.kind === "deferred") return { tries, dueAt: Math.max(now, dueAt ?? now) };
  const wait = waitsMs[tries];
  if (wait === undefined) return { tries: tries + 1, dueAt: undefined, exhausted: true };
  const asked = Math.min(outcome.retryAfterMs ?? 0, retryAfterMsMax);
  return { tries: tries + 1, dueAt: now + Math.max(wait, asked) };
}

/** Returns the earliest due time; undefined if nothing is due. */
export function firstDueOf(deliveries: readonly DeliveryState[]): number | undefined {
  const times = deliveries.flatMap(({ dueAt }) => dueAt ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}
