import { expect } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toTryId } from "#shared/calls/tries.ts";
import type { CallbackReport } from "#shared/providers/provider.ts";
import { createDialerBench } from "./dialer.ts";
import { aCallNow, type Bench, rowOf, sendEach, webhook } from "./dialer-calls.ts";
import { readRows } from "./reads.ts";
import { completed, minuteMs } from "./results-bench.ts";

export const hourMs = 60 * minuteMs;
const signed = { body: "{}", headers: {}, receivedAt: 1 };
export const rule = { within: "14d", most: 2 };
export const events = { "*": { url: "http://127.0.0.1:9/events" } };
/** Tuesday, noon in UTC. */
export const startAt = "2026-11-24T12:00:00Z";

interface Options {
  agent?: object;
  plan?: object;
  /** The calls that a redial replaces. */
  ancestors?: string[];
}

/** Dials a call of an agent whose callees may ask to be called back. */
export async function dial(
  { agent = {}, plan = {}, ancestors }: Options = {},
  route: object = webhook,
) {
  const agents = { agent_sales: { ...route, callBacks: rule, ...agent } };
  const bench = createDialerBench({ startAt, plan: { agents, events, results: {}, ...plan } });
  bench.answer = async ({ id }) => ({ kind: "placed", providerCallId: `ring_${id}` });
  const call = aCallNow(bench, { timezone: "UTC" }, ancestors === undefined ? {} : { ancestors });
  await sendEach(bench, call);
  await bench.deliver();
  const row = await rowOf(bench, call);
  const request = ancestors === undefined ? { timezone: "UTC" } : null;
  expect(row).toMatchObject({ state: "PLACED", request });
  await bench.deliverEvents();
  bench.advance(minuteMs);
  const report = async (one: object, claim = row.claims[0] ?? "", id = call.id) => {
    const reported = { kind: "reported", result: completed, ...one } as CallbackReport;
    bench.told = async () => reported;
    const of = { kind: "callback", account: "webhook", signed } as const;
    await bench.eventsQueue.send({ ...of, call: { id, claim } });
    for (let n = 0; n < 3; n++) await bench.deliverEvents();
  };
  return { bench, call, report, next: { id: toTryId(call.id, 2) } };
}

/** Returns the whole second that is so long from now, as a wish. */
export const inMs = (bench: Bench, ms: number) =>
  new Date(Math.floor((bench.now() + ms) / 1000) * 1000).toISOString();
export const rowIfAny = async (
  bench: Bench,
  { id }: { id: string },
): Promise<CallRow | undefined> => [...(await readRows(bench.rows, [id])).values()][0];
export const told = (bench: Bench, type: string) =>
  bench.posted.filter(({ body }) => body.type === type).map(({ body }) => body.data);
