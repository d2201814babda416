import type { EventAnswer } from "#functions/dialer/runtime/post-event.ts";
import type { Call } from "#shared/calls/call-request.ts";
import type { Bench } from "./dialer-calls.ts";
import { createBench, minuteMs } from "./results-bench.ts";

/** Returns the part of a plan that delivers every client's events to one receiver. */
export const toldTo = (entry: object = {}, more: object = {}) => ({
  events: { "*": { url: "http://127.0.0.1:9/events", ...entry }, ...more },
});

export const taken: EventAnswer = { status: 204, text: "" };
export const failed: EventAnswer = { status: 503, text: "" };

/** Creates a bench whose plan asks for results and has receivers of events. */
export function createEventsBench(entry: object = {}, more: object = {}): Bench {
  return createBench({}, { ...toldTo(entry), ...more });
}

/** Delivers what is due now, and what comes due within the next seconds. */
export async function deliverNow(bench: Bench): Promise<void> {
  for (let n = 0; n < 3; n++) await bench.deliverEvents();
}

/** Lets minutes pass, with a sweep and a delivery of the events queue in each. */
export async function deliverFor(bench: Bench, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    bench.advance(minuteMs);
    await bench.sweep();
    await deliverNow(bench);
  }
}

/** Returns the types of the events that were posted of a call, in order. */
export const typesOf = (bench: Bench, { id }: Pick<Call, "id">) =>
  bench.posted.filter((one) => one.id.startsWith(`${id}.`)).map(({ body }) => body.type);
