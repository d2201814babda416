import { type Fate, fateOf } from "#shared/providers/simulator.ts";
import type { StandInCall } from "./calls.ts";
import type { Memory } from "./endpoint.ts";

/** A call's progress at a moment. Times are in milliseconds since the epoch. */
export interface Progress {
  state: "queued" | "ringing" | "in-progress" | "ended";
  /** Status that the call ends with. */
  fate: Fate;
  answeredAt?: number;
  endedAt?: number;
  /** Length of the conversation, of a call that has ended. */
  seconds: number;
}

/**
 * Returns how far a call has come: it rings, is answered and ends, after the seconds of the settings. A call to a
 * number that ends in 7 reaches a mailbox, in 8 nobody, and in 9 a line that is busy. A status that a test has set
 * stays as it is.
 */
export function progressOf(
  call: StandInCall,
  { now, settings }: Pick<Memory, "now" | "settings">,
): Progress {
  const { at, number, status } = call;
  if (status === "queued") return { state: "queued", fate: "completed", seconds: 0 };
  if (status === "in-progress") {
    return { state: "in-progress", fate: "completed", answeredAt: at, seconds: 0 };
  }
  if (status === "ended") {
    return { state: "ended", fate: "completed", answeredAt: at, endedAt: at, seconds: 0 };
  }
  const fate = fateOf(number);
  const answeredAt = at + settings.ringSeconds * 1000;
  if (now() < answeredAt) return { state: "ringing", fate, seconds: 0 };
  if (fate === "no_answer" || fate === "busy") {
    return { state: "ended", fate, endedAt: answeredAt, seconds: 0 };
  }
  const endedAt = answeredAt + settings.talkSeconds * 1000;
  return now() < endedAt
    ? { state: "in-progress", fate, answeredAt, seconds: 0 }
    : { state: "ended", fate, answeredAt, endedAt, seconds: settings.talkSeconds };
}

/**
 * Returns the time at which a call's callee wants to be called back, once the call has ended: one whose number ends in 14, as in
 * the sandbox. Undefined: the callee said nothing of it.
 */
export function wishOf(
  { number }: StandInCall,
  { endedAt, answeredAt }: Progress,
  { settings }: Pick<Memory, "settings">,
): string | undefined {
  if (endedAt === undefined || answeredAt === undefined || !number.endsWith("14")) return undefined;
  return new Date(endedAt + settings.callBackSeconds * 1000).toISOString();
}

/** Returns a time in the form of ISO 8601, or null. */
export function isoOf(time: number | undefined): string | null {
  return time === undefined ? null : new Date(time).toISOString();
}
