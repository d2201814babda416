import { callIdOf, createRequestId } from "../../shared/calls/ids.ts";
import { pauseKeyOf } from "../../shared/documents/orders.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import { createDialerBench } from "../support/dialer.ts";
import { randomId } from "../../shared/platform/random-id.ts";

/** Rules about breakers, sweeps and calling up, which random scenarios break too seldom. */

export const startAt = "2026-10-22T12:00:00Z";
export const dayMs = 86_400_000;
export const agents = {
  agent_sales: { provider: "webhook", url: "https://one.example/dial" },
  agent_support: { provider: "webhook", url: "https://one.example/support" },
};
export const account = "account:webhook:https://one.example";
export const benchOf = (more: { plan?: object; concurrency?: number } = {}) =>
  createDialerBench({ startAt, ...more, plan: { agents, ...more.plan } });
export type Bench = ReturnType<typeof benchOf>;

let people = 0;
/** Posts calls to people who were not called before, each in a request of its own. Resolves to their ids. */
export async function post(
  bench: Bench,
  count: number,
  {
    agent = "agent_sales",
    client = "crm",
    number,
  }: { agent?: string; client?: string; number?: string } = {},
): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const requestId = createRequestId(bench.now(), randomId());
    people += 1;
    const phone_number = number ?? `+1202555${String(people % 10_000).padStart(4, "0")}`;
    const calls = [{ index: 0, request: { phone_number, agent_id: agent } }];
    await bench.send({ kind: "calls", requestId, client, acceptedAt: bench.now(), calls });
    ids.push(callIdOf(requestId, 0));
  }
  return ids;
}
/** Dials one call after another, each with the same answer. */
export async function dialEach(
  bench: Bench,
  outcomes: readonly DialOutcome[],
  agent = "agent_sales",
) {
  for (const outcome of outcomes) {
    bench.answer = async () => outcome;
    await post(bench, 1, { agent });
    await bench.deliver();
    bench.advance(1);
  }
}
export const times = (count: number, outcome: DialOutcome) =>
  Array.from({ length: count }, () => outcome);
const breakerOf = async (bench: Bench, key: string) =>
  (await bench.documents.read([{ kind: "breaker", key }])).get("breaker", key)?.value;
export const stateOf = async (bench: Bench, key: string) => (await breakerOf(bench, key))?.state;
export const unanswered: DialOutcome = { kind: "unknown", code: "http_500" };
export const placed: DialOutcome = { kind: "placed" };
export const refused = { kind: "rejected", code: "http_422" } as const;
/** Writes waiting rows, by means of a pause that is lifted before they are called up. */
export async function waitingRows(
  bench: Bench,
  count: number,
  more: { agent?: string; client?: string } = {},
) {
  const agent = more.agent ?? "agent_sales";
  const key = pauseKeyOf({ agent });
  const value = { of: { agent }, at: bench.now(), by: "operator" };
  await bench.documents.write([
    { next: { ...key, version: randomId(), value, expiresAt: null }, seen: null },
  ]);
  const ids = await post(bench, count, { ...more, agent });
  await bench.deliver();
  await bench.documents.remove([key]);
  return ids;
}
