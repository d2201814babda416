import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import type { Call } from "#shared/calls/call-request.ts";
import { toCallId } from "#shared/calls/ids.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { aRequestId } from "../support/calls.ts";
import { createDialerBench } from "../support/dialer.ts";
import { type Bench, numberOf, putDocument, request } from "../support/dialer-calls.ts";

/**
 * Clients who share accounts, in simulated time, over the real core. Functions share nothing but queue, ledger and
 * documents.
 */

/** Number of deliveries at once, and of requests at once in each. */
export interface Shape {
  consumers: number;
  concurrency: number;
}

export const shapes = {
  small: { consumers: 10, concurrency: 5 },
  cloudflare: { consumers: 50, concurrency: 5 },
  aws: { consumers: 20, concurrency: 25 },
} as const satisfies Record<string, Shape>;

export const placed: DialOutcome = { kind: "placed" };
export const unknown: DialOutcome = { kind: "unknown", code: "http_500" };

/** Answer of a provider to a call, after a time in milliseconds. */
export type Answering = (
  call: Call,
  bench: Bench,
) => { ms: number; outcome: DialOutcome } | Promise<{ ms: number; outcome: DialOutcome }>;

/** An account of a webhook's host, or of a provider whose accounts several agents share. */
export const host = (name: string) => ({
  provider: "webhook",
  url: `https://${name}.example/dial`,
});
export const vapi = (agent: string) => ({ provider: "vapi", agent, from: "number-id" });

export interface SimulationOptions {
  shape: Shape;
  plan: object;
  answer: Answering;
  /** Response time of ledger and documents, in milliseconds. */
  ledgerMs?: number;
  /** True if the accounts have answered before. */
  isKnown?: boolean;
}

/** Creates a simulated service with everything that a scenario measures. */
export function createSimulation({
  shape,
  plan,
  answer,
  ledgerMs = 5,
  isKnown = false,
}: SimulationOptions) {
  const bench = createDialerBench({
    startAt: "2026-06-01T10:00Z",
    isNew: !isKnown,
    ...shape,
    plan: { expireAfterHours: 72, ...plan },
  });
  bench.answer = async (call) => {
    const { ms, outcome } = await answer(call, bench);
    await bench.sleep(ms);
    return outcome;
  };
  const queries = slowDown(bench, ledgerMs);
  const processes = Array.from({ length: shape.consumers }, () => ({
    memory: createDialerMemory(),
  }));
  const acceptedAt = new Map<string, number>();
  const startedAt = bench.now();
  let numbers = 0;

  return {
    bench,
    queries,
    startedAt,
    /** Lets a client post a request of calls to an agent. Resolves to their ids. */
    async post(client: string, agent: string, count: number): Promise<string[]> {
      const requestId = aRequestId(bench.now());
      const calls = Array.from({ length: count }, (_, index): Call => {
        numbers += 1;
        return {
          id: toCallId(requestId, index),
          requestId,
          batchCalls: count,
          client,
          mode: "live",
          acceptedAt: bench.now(),
          request: { phone_number: numberOf(numbers), agent_id: agent, timezone: "UTC" },
        };
      });
      for (const { id } of calls) acceptedAt.set(id, bench.now());
      await bench.send(request(calls));
      return calls.map(({ id }) => id);
    },
    /** Makes an account known as quick, as it is once it has answered. */
    know: (account: string) =>
      putDocument(bench, { kind: "account", key: account }, { quick: true, busy: false }),
    async pass(seconds: number): Promise<void> {
      await bench.simulate(seconds, { consumers: shape.consumers, processes });
    },
    /** Times from acceptance to the request of those calls that were dialed, sorted, in seconds. */
    waits(ids: readonly string[]): number[] {
      const wanted = new Set(ids);
      const first = new Map<string, number>();
      for (const { call, at } of bench.dialed) {
        if (wanted.has(call.id) && !first.has(call.id)) first.set(call.id, at);
      }
      return [...first]
        .map(([id, at]) => (at - (acceptedAt.get(id) ?? at)) / 1000)
        .toSorted((a, b) => a - b);
    },
    /** Requests that the provider got for calls for which `isOf` holds. */
    requests: (isOf: (call: Call) => boolean) =>
      bench.dialed.filter(({ call }) => isOf(call)).length,
  };
}

/** The value below which this share of the sorted values lies. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Infinity;
}

/** Delays every method of ledger and documents by this time, half of it before the effect, and counts the calls. */
export function slowDown(bench: Bench, ms: number): { count: number } {
  const queries = { count: 0 };
  const slow = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get(target, name, receiver) {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== "function") return method;
        return async (...words: unknown[]) => {
          queries.count += 1;
          await bench.sleep(ms / 2);
          const answer: unknown = await Reflect.apply(method, target, words);
          await bench.sleep(ms / 2);
          return answer;
        };
      },
    });
  bench.deps.ledger = slow(bench.rows);
  bench.deps.documents = slow(bench.documents);
  return queries;
}
