import * as z from "../lib/zod.ts";
import { resultStatuses } from "./call-result.ts";
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
] as const;
export type CallEventType = (typeof callEventTypes)[number];

/** Types of all events that the service tells, as the dial plan names them. */
export const eventTypes = [...callEventTypes, "request.finished"] as const;

/** State of telling one event, as it is stored. Times are milliseconds since the epoch. */
export const deliveryFields = {
  /** Number of tries that failed. Absent: none. */
  tries: z.optional(z.number()),
  /** Time of the next try. Absent: it was told, or its tries are used up. */
  dueAt: z.optional(z.number()),
  /** True once its tries are used up. */
  exhausted: z.optional(z.boolean()),
};

/** State of telling one event: see `deliveryFields`. */
export interface DeliveryState {
  tries?: number | undefined;
  dueAt?: number | undefined;
  exhausted?: boolean | undefined;
}

/**
 * An event of a call, as its row keeps it: enough to say again what it said. Its id is the call's id, a point and its
 * sequence.
 */
export const callEventSchema = z.looseObject({
  ...deliveryFields,
  /** A type of `callEventTypes`, or one that only a later version knows. */
  type: z.string(),
  /** Number of the event among those of its call, from 1. */
  sequence: z.number(),
  /** Time at which it happened. */
  at: z.number(),
  /** State, reason and attempt of the call then. */
  state: z.string(),
  reason: z.string(),
  attempt: z.number(),
  /** `call.ended`: the status of the result. */
  status: z.optional(z.enum(resultStatuses)),
  /** `call.answered` and `call.ended`: time of the answer, if it was known. */
  answeredAt: z.optional(z.number()),
});
export type CallEvent = z.infer<typeof callEventSchema>;

/** Waits after each try that failed (Standard Webhooks): ten tries, the last one after three days. */
const waitsMs = [
  5_000,
  5 * minuteMs,
  30 * minuteMs,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
];
/** Longest wait that a receiver may ask for. */
const retryAfterMsMax = dayMs;

/** Result of one try to tell an event. */
export type DeliveryOutcome =
  | { kind: "taken" }
  /** `retryAfterMs`: the receiver's own wish. */
  | { kind: "failed"; retryAfterMs?: number | undefined }
  /** A circuit breaker's probe failed: it counts for no try. */
  | { kind: "deferred" };

/** Result of one try, and the due time that led to it. */
export interface Tried {
  told: DeliveryOutcome;
  dueAt: number;
}

/**
 * True if a try counts. One that failed counts only while its due time stands: two deliveries may try an event at the
 * same moment, and are one try.
 */
export function isCounted({ dueAt }: DeliveryState, { told, ...tried }: Tried): boolean {
  return dueAt !== undefined && (told.kind === "taken" || dueAt === tried.dueAt);
}

/** Returns the state of telling an event after a try at `now`. */
export function applyDelivery(
  { tries = 0, dueAt }: DeliveryState,
  told: DeliveryOutcome,
  now: number,
): DeliveryState {
  if (told.kind === "taken") return { tries: undefined, dueAt: undefined, exhausted: undefined };
  if (told.kind === "deferred") return { tries, dueAt: Math.max(now, dueAt ?? now) };
  const wait = waitsMs[tries];
  if (wait === undefined) return { tries: tries + 1, dueAt: undefined, exhausted: true };
  const asked = Math.min(told.retryAfterMs ?? 0, retryAfterMsMax);
  return { tries: tries + 1, dueAt: now + Math.max(wait, asked) };
}

/** Returns the first time at which one of these is to be told; undefined if none is. */
export function firstDueOf(deliveries: readonly DeliveryState[]): number | undefined {
  const times = deliveries.flatMap(({ dueAt }) => dueAt ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}
