import { readRows } from "#test/support/reads.ts";
import { expect, it } from "vitest";
import { toTryId } from "#shared/calls/tries.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { aCallNow, rowOf, sendEach, webhook } from "#test/support/dialer-calls.ts";
import { busy, minuteMs } from "#test/support/results-bench.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const signed = { body: "{}", headers: {}, receivedAt: 1 };
const retry = { attempts: 3, within: "24h", after: { busy: "15m" } };

/** Dials a call of a webhook whose signed callbacks tell that it was busy. */
async function dial(isKnown: boolean) {
  const agents = { agent_sales: { ...webhook, retry } };
  const bench = createDialerBench({ plan: { agents, results: { waitMinutes: 30 } } });
  bench.told = async () => ({ kind: "reported", result: busy });
  if (!isKnown) bench.answer = async () => ({ kind: "unknown", code: "time_out" });
  const call = aCallNow(bench);
  await sendEach(bench, call);
  await bench.deliver();
  const row = await rowOf(bench, call);
  expect(row.state).toBe(isKnown ? "PLACED" : "UNKNOWN");
  const callBack = async () => {
    const [claim = ""] = row.claims;
    const of = { kind: "callback", account: "webhook", signed } as const;
    await bench.eventsQueue.send({ ...of, call: { id: call.id, claim } });
    await bench.deliverEvents();
  };
  return { bench, call, callBack, second: { id: toTryId(call.id, 2) } };
}

it.each([true, false])(
  "a signed callback has a call tried again, whose placement was known: %s",
  inSlowTier,
  async (isKnown) => {
    const { bench, call, callBack, second } = await dial(isKnown);
    await callBack();
    expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", request: null, dueAt: null });
    expect(await rowOf(bench, second)).toMatchObject({ state: "WAITING", reason: "retry" });
    await callBack();
    bench.answer = async () => ({ kind: "placed" });
    await bench.simulate(17 * 60);
    expect(bench.dialed.map((one) => one.call.id)).toEqual([call.id, second.id]);
  },
);

it("a callback after the wait for it is over has no call tried again, as its number is erased", async () => {
  const { bench, call, callBack, second } = await dial(true);
  bench.advance(30 * minuteMs);
  await bench.sweep();
  await bench.deliverEvents();
  expect(await rowOf(bench, call)).toMatchObject({ result: { status: "unknown" }, request: null });
  await callBack();
  const row = await rowOf(bench, call);
  expect([row.result?.status, row.next]).toEqual(["busy", undefined]);
  expect((await readRows(bench.rows, [second.id])).size).toBe(0);
});
