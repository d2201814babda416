import { describe, expect, it } from "vitest";
import { callsNow, sendEach } from "#test/support/dialer-calls.ts";
import { completed, createBench, minuteMs, twilio } from "#test/support/results-bench.ts";

const accounts = Array.from({ length: 12 }, (_, n) => `twilio-${n}`);
/** Deliveries at once on AWS. */
const consumers = 6;
const everySeconds = 5;

/** Places calls along each account whose results are due, and those of a shop. */
async function createBusyBench(callsOfEach: number) {
  const [agent] = Object.values(twilio.agents);
  const agents = Object.fromEntries(
    [...accounts, "shop"].map((name) => [name, { ...agent, provider: name }]),
  );
  const entry = { type: "twilio", callsPerSecond: 500 };
  const bench = createBench(
    {},
    {
      agents,
      providers: Object.fromEntries(Object.keys(agents).map((name) => [name, entry])),
      events: { shop: { url: "http://127.0.0.1:9/shop", types: ["call.placed"] } },
    },
  );
  const sold = callsNow(
    bench,
    minuteMs / 1000 / everySeconds,
    { agent_id: "shop" },
    { client: "shop" },
  );
  const polled = accounts.flatMap((name) => callsNow(bench, callsOfEach, { agent_id: name }));
  await sendEach(bench, ...sold, ...polled);
  while (bench.dialed.length < sold.length + polled.length)
    await bench.simulate(1, { firstSweepSeconds: 1000 });
  bench.eventsQueue.take();
  return { bench, sold };
}

describe("healthy accounts with many results to poll", () => {
  it("delay no events of others, and are polled on at their pace", async () => {
    const { bench, sold } = await createBusyBench(100);
    const polledAt = new Map<string, number[]>();
    bench.record = async (_, { account }) => {
      polledAt.set(account, [...(polledAt.get(account) ?? []), bench.now()]);
      return completed;
    };
    bench.advance(10 * minuteMs);
    const begunAt = bench.now();
    for (const account of accounts)
      await bench.eventsQueue.send({ kind: "poll", account, sentAt: begunAt });
    const waits: number[] = [];
    for (let second = 0; second < 60; second++) {
      const [call] = second % everySeconds === 0 ? sold.splice(0, 1) : [];
      if (call !== undefined) {
        const of = { receiver: "shop", calls: [call.id], requests: [], sentAt: bench.now() };
        await bench.eventsQueue.send({ kind: "deliver", ...of, swept: false });
      }
      await bench.simulateEvents(1, { consumers, batchSize: 2 });
      while (waits.length < bench.posted.length) waits.push(second - waits.length * everySeconds);
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(12);
    expect(waits.length).toBeGreaterThanOrEqual(10);
    for (const account of accounts) {
      const times = polledAt.get(account) ?? [];
      expect(times.length).toBeGreaterThan(70);
      const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(500);
      expect(Math.max(...times) - begunAt).toBeLessThan(minuteMs);
    }
  });
});
