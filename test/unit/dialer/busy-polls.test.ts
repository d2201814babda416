import { describe, expect, it } from "vitest";
import type { CallResult } from "#shared/calls/call-result.ts";
import { type Bench, callsNow, sendEach } from "#test/support/dialer-calls.ts";
import { completed, createBench, live, minuteMs, twilio } from "#test/support/results-bench.ts";

const accounts = Array.from({ length: 12 }, (_, n) => `twilio-${n}`);
/** Deliveries at once on AWS. */
const consumers = 6;
const everySeconds = 5;

/** Places calls along each account whose results are due, and those of a shop. */
async function createBusyBench(callsOfEach: number, settings: object = {}) {
  const [agent] = Object.values(twilio.agents);
  const agents = Object.fromEntries(
    [...accounts, "shop"].map((name) => [name, { ...agent, provider: name }]),
  );
  const entry = { type: "twilio", callsPerSecond: 500, ...settings };
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
  const polledAt = new Map<string, number[]>();
  const answerRecords = (result: CallResult) => {
    bench.record = async (_, { account }) => {
      polledAt.set(account, [...(polledAt.get(account) ?? []), bench.now()]);
      return result;
    };
  };
  bench.advance(10 * minuteMs);
  return { bench, sold, polledAt, answerRecords };
}

/** Has an account polled. */
const sendPoll = (bench: Bench, account: string, more: { live?: string } = {}) =>
  bench.eventsQueue.send({ kind: "poll", account, sentAt: bench.now(), ...more });

/** Has an event delivered each few seconds of a minute. Returns how many seconds each one waited. */
async function waitsOf(
  { bench, sold }: { bench: Bench; sold: readonly { id: string }[] },
  atSecond: (second: number) => Promise<void>,
): Promise<number[]> {
  const left = [...sold];
  const waits: number[] = [];
  for (let second = 0; second < 60; second++) {
    await atSecond(second);
    const [call] = second % everySeconds === 0 ? left.splice(0, 1) : [];
    if (call !== undefined) {
      const of = { receiver: "shop", calls: [call.id], requests: [], sentAt: bench.now() };
      await bench.eventsQueue.send({ kind: "deliver", ...of, swept: false });
    }
    await bench.simulateEvents(1, { consumers, batchSize: 2 });
    while (waits.length < bench.posted.length) waits.push(second - waits.length * everySeconds);
  }
  return waits;
}

describe("healthy accounts with many results to poll", () => {
  it("delay no events of others, and are polled on at their pace", async () => {
    const { bench, sold, polledAt, answerRecords } = await createBusyBench(100);
    answerRecords(completed);
    const begunAt = bench.now();
    for (const account of accounts) await sendPoll(bench, account);
    const waits = await waitsOf({ bench, sold }, async () => undefined);
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

describe("accounts with as many live calls as they may have", () => {
  it("delay no events of others while their calls are polled", async () => {
    const { bench, sold, polledAt, answerRecords } = await createBusyBench(40, { liveCalls: 40 });
    answerRecords(live);
    const waits = await waitsOf({ bench, sold }, async (second) => {
      if (second % 20 > 0) return;
      for (const account of accounts) await sendPoll(bench, account, { live: account });
    });
    expect(Math.max(...waits)).toBeLessThanOrEqual(12);
    expect(waits.length).toBeGreaterThanOrEqual(10);
    for (const account of accounts)
      expect(polledAt.get(account)?.length).toBeGreaterThanOrEqual(50);
  });

  it("have each call polled by turns", async () => {
    const { bench } = await createBusyBench(40, { liveCalls: 40 });
    const [account = ""] = accounts;
    const asked = new Set<string>();
    bench.record = async ({ id }) => {
      asked.add(id);
      return live;
    };
    let turn = 0;
    bench.deps.random = { ...bench.deps.random, fraction: () => (turn++ * 0.3) % 1 };
    for (let polls = 0; polls < 6; polls++) {
      await sendPoll(bench, account, { live: account });
      await bench.simulateEvents(20);
    }
    expect(asked.size).toBe(40);
  });
});
