import type { Call } from "#shared/calls/call-request.ts";
import type { StoredReceiver } from "#shared/ports/receiver-kinds.ts";
import { type Bench, callsNow, sendEach } from "./dialer-calls.ts";
import { createBench } from "./results-bench.ts";

/** Creates a bench without receivers in the plan, unless `more` has some, whose calls go at once. */
export function createClientReceiverBench(more: object = {}): Bench {
  return createBench({}, { providers: { twilio: { callsPerSecond: 500 } }, ...more });
}

/** Writes the document of a client's own receivers, as its API does. Every process knows of it, as after a minute. */
export async function setReceivers(
  bench: Bench,
  client: string,
  receivers: Record<string, Partial<StoredReceiver>>,
  more: object = {},
): Promise<void> {
  const made = Object.entries(receivers).map(([name, one]): [string, StoredReceiver] => [
    name,
    {
      url: `https://${name}.example.com/`,
      types: ["call.placed", "call.ended"],
      echo: [],
      requestsPerSecond: 1000,
      secretGeneration: bench.now(),
      createdAt: bench.now(),
      ...one,
    },
  ]);
  const key = { kind: "receivers", key: client } as const;
  const seen = (await bench.documents.read([key])).find("receivers", client)?.version ?? null;
  const value = { receivers: Object.fromEntries(made), ...more };
  const next = {
    ...key,
    value,
    version: `receivers ${bench.now()} ${Math.random()}`,
    expiresAt: null,
  };
  await bench.documents.write([{ next, seen }]);
  bench.deps.memory.knownReceivers.clear();
}

/** Places calls of a client, and resolves before their events are delivered. */
export async function placeFor(
  bench: Bench,
  client: string,
  count: number,
  request: object = {},
): Promise<Call[]> {
  const placed = bench.dialed.length + count;
  const calls = callsNow(bench, count, request, { client, first: "request" });
  await sendEach(bench, ...calls);
  while (bench.dialed.length < placed) await bench.simulate(0.5, { firstSweepSeconds: 1000 });
  return calls;
}

/** Events that a receiver got, in order. */
export const postsTo = (bench: Bench, receiver: string) =>
  bench.posted.filter((one) => one.receiver === receiver);
