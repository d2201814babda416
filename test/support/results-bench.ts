import { routeFrom } from "./plans.ts";
import { expect } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import type { CallResult } from "#shared/calls/call-result.ts";
import { createDialerBench } from "./dialer.ts";
import { type Bench, callsNow, rowOf, sendEach } from "./dialer-calls.ts";

export const minuteMs = 60_000;
export const twilio = {
  agents: {
    agent_sales: { provider: "twilio", from: "+12025550100", answerUrl: "https://x.example/" },
  },
};
export const route = routeFrom("twilio", twilio.agents.agent_sales);
export const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };
export const live: CallResult = { ...nothing, status: "live" };
export const busy: CallResult = { ...nothing, status: "busy", word: "busy" };
export const completed: CallResult = {
  ...nothing,
  status: "completed",
  word: "completed",
  seconds: 42,
};

/** Creates a bench whose provider places every call, and whose plan asks for results. */
export function createBench(
  results: object | null = {},
  more: object = {},
  at: { startAt?: string } = {},
) {
  const bench = createDialerBench({
    plan: { ...twilio, ...(results === null ? {} : { results }), ...more },
    ...at,
  });
  bench.answer = async ({ id }) => ({ kind: "placed", providerCallId: `CA_${id}` });
  return bench;
}

/** Places calls and returns them. */
export async function place(bench: Bench, count: number): Promise<Call[]> {
  const calls = callsNow(bench, count);
  await sendEach(bench, ...calls);
  await bench.simulate(count + 5, { firstSweepSeconds: 1000 });
  expect(bench.dialed).toHaveLength(count);
  return calls;
}

/** Moves time on, then has the sweep ask. */
export async function pollAfter(bench: Bench, minutes: number): Promise<void> {
  bench.advance(minutes * minuteMs);
  await bench.sweep();
  await bench.deliverEvents();
}

/** The same with all deliveries of the minute after the sweep: a poll of many calls takes several. */
export async function pollMinuteAfter(bench: Bench, minutes: number): Promise<void> {
  bench.advance(minutes * minuteMs);
  await bench.sweep();
  await bench.simulateEvents(60);
}

export const resultOf = async (bench: Bench, call: { id: string }) =>
  (await rowOf(bench, call)).result;
