import { toCallId, createRequestId } from "#shared/calls/ids.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { createDialerBench } from "../support/dialer.ts";
import { randomId } from "#shared/lib/random.ts";
import { removeCurrent } from "../support/documents.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";

/** Rules about claims, sweeps and rows that wait, which random scenarios break too seldom. */

const startAt = "2026-10-22T12:00:00Z";
export const dayMs = 86_400_000;
export const agents = {
  agent_sales: { provider: "webhook", url: "https://one.example/dial" },
  agent_support: { provider: "webhook", url: "https://one.example/support" },
};
export const hostAccount = "webhook:https://one.example";
export const benchOf = (more: { plan?: object; concurrency?: number } = {}) =>
  createDialerBench({ startAt, ...more, plan: { agents, ...more.plan } });
type Bench = ReturnType<typeof benchOf>;

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
    ids.push(toCallId(requestId, 0));
  }
  return ids;
}
export const placed: DialOutcome = { kind: "placed" };
/** Writes waiting rows, by means of a pause that is lifted before they are dispatched. */
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
  await removeCurrent(bench.documents, key);
  return ids;
}
