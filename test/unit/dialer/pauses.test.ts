import { expect, it } from "vitest";
import {
  aCallNow,
  idsDialed,
  numberOf,
  pause,
  put,
  putWaiting,
  rowOf,
  sendEach,
  statesOf,
} from "#test/support/dialer-calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { rowIn } from "#test/support/rows.ts";

const startAt = "2026-10-22T12:00:00Z";

it("of a client stops its calls for every agent, and no other client's", async () => {
  const bench = createDialerBench({ startAt });
  await pause(bench, { client: "crm" });
  const to = (client: string, agent_id: string, index: number) =>
    aCallNow(bench, { agent_id, phone_number: numberOf(index) }, { client });
  const stopped = [to("crm", "agent_sales", 1), to("crm", "agent_support", 2)];
  const others = [to("shop", "agent_sales", 3), to("shop", "agent_support", 4)];
  const all = [...stopped, ...others];
  await put(bench, ...all.map((call) => rowIn("WAITING", call, { dueAt: bench.now() })));
  await bench.simulate(60);
  expect(await statesOf(bench, stopped)).toEqual(["WAITING", "WAITING"]);
  expect(await statesOf(bench, others)).toEqual(["PLACED", "PLACED"]);
});

it.each([{ agent: "agent_sales" }, { account: "webhook" }, { client: "crm" }])(
  "with an end lets the calls of %o go a look after it, and none before",
  async (what) => {
    const bench = createDialerBench({ startAt });
    bench.deps.dispatcher = { ...bench.deps.dispatcher, endsIdle: false };
    const until = bench.now() + 30_000;
    await pause(bench, what, until);
    const calls = await putWaiting(bench, 2, 0);
    await bench.simulate(29);
    expect(idsDialed(bench)).toEqual([]);
    await bench.simulate(8);
    expect(await statesOf(bench, calls)).toEqual(["PLACED", "PLACED"]);
    for (const { id } of calls) {
      expect((await rowOf(bench, { id })).claimedAt).toBeGreaterThanOrEqual(until);
    }
  },
);

it("with an end wakes a dispatcher that had nothing to do, within a minute", async () => {
  const bench = createDialerBench({ startAt });
  await pause(bench, { client: "crm" }, bench.now() + 600_000);
  const calls = await putWaiting(bench, 2, 0);
  await bench.simulate(599);
  expect(idsDialed(bench)).toEqual([]);
  await bench.simulate(70);
  expect(await statesOf(bench, calls)).toEqual(["PLACED", "PLACED"]);
});

it("with an end holds a fresh call until it, and not after it", async () => {
  const bench = createDialerBench({ startAt });
  await pause(bench, { client: "crm" }, bench.now() + 1_000);
  const [first, second] = [aCallNow(bench, {}), aCallNow(bench, { phone_number: numberOf(2) })];
  await sendEach(bench, first);
  await bench.deliver();
  expect(await rowOf(bench, first)).toMatchObject({ state: "WAITING", reason: "paused" });
  bench.advance(1_000);
  await sendEach(bench, second);
  await bench.deliver();
  expect((await rowOf(bench, second)).reason).not.toBe("paused");
});
