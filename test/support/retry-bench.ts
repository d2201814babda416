import type { CallResult } from "#shared/calls/call-result.ts";
import { toTryId } from "#shared/calls/tries.ts";
import type { Bench } from "./dialer-calls.ts";
import { createBench, nothing, place, twilio } from "./results-bench.ts";
import { firstOf } from "./first-of.ts";

export const noAnswer: CallResult = { ...nothing, status: "no_answer", word: "no-answer" };
export const retry = {
  attempts: 3,
  within: "72h",
  after: { busy: "15m", no_answer: "3h", failed: "30m" },
};

/** Creates a bench whose provider places every call, and whose agent has a rule of retries. */
export function createRetryBench(rule: object = retry, more: object = {}): Bench {
  const { agent_sales } = twilio.agents;
  return createBench({}, { agents: { agent_sales: { ...agent_sales, retry: rule } }, ...more });
}

/** Places a first call, and resolves to it and to the ids of its chain's tries. */
export async function placeFirst(bench: Bench) {
  const call = firstOf(await place(bench, 1));
  return { call, second: { id: toTryId(call.id, 2) }, third: { id: toTryId(call.id, 3) } };
}

/** Has the provider's records report the end of each call, in the order in which the calls were dialed. */
export function tell(bench: Bench, ...results: CallResult[]): void {
  bench.record = async ({ id }) => results[bench.dialed.findIndex(({ call }) => call.id === id)];
}
