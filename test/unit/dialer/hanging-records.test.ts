import { describe, expect, it } from "vitest";
import {
  type Bench,
  callsNow,
  documentOf,
  hashOf,
  rowOf,
  sendEach,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";
import { completed, createBench, twilio } from "#test/support/results-bench.ts";

interface Records {
  /** Callbacks each second about calls of the account, and time of each answer of its records. */
  callbacks: number;
  answerMs: number;
  fails: boolean;
  consumers: number;
}

const seconds = 180;
const everySeconds = 10;

async function place(bench: Bench, client: string, count: number, fields: object = {}) {
  const most = bench.dialed.length + count;
  const calls = callsNow(bench, count, fields, { client });
  await sendEach(bench, ...calls);
  while (bench.dialed.length < most) await bench.simulate(0.5, { firstSweepSeconds: 1000 });
  return calls;
}

/** Lets callbacks of one account come while its records are slow, events of another client, and a signed opt-out. */
async function followCallbacks({ callbacks, answerMs, fails, consumers }: Records) {
  const hook = { provider: "webhook", url: "https://hook.example/dial" };
  const bench = createBench(
    {},
    {
      events: { shop: { url: "http://127.0.0.1:9/shop", types: ["call.placed"] } },
      agents: { ...twilio.agents, hook },
      providers: { twilio: { callsPerSecond: 500 } },
    },
  );
  const hanging = await place(bench, "slow", callbacks * seconds);
  const sold = await place(bench, "shop", seconds / everySeconds);
  const number = "+12025550199";
  const [hooked] = await place(bench, "hook", 1, { agent_id: "hook", phone_number: number });
  if (hooked === undefined) throw new Error("no call");
  const claimOf = async ({ id }: { id: string }) => {
    const [claim = ""] = (await rowOf(bench, { id })).claims;
    return { id, claim };
  };
  const claims = await Promise.all(hanging.map(claimOf));
  bench.eventsQueue.take();
  bench.told = async () => ({ kind: "reported", result: completed, optedOut: true });
  bench.record = async () => {
    await bench.sleep(answerMs);
    if (fails) throw new Error("no answer");
    return completed;
  };
  let listedAfter = Infinity;
  for (let second = 0; second < seconds; second++) {
    for (const call of claims.splice(0, callbacks)) {
      await bench.eventsQueue.send({ kind: "callback", account: "twilio", call });
    }
    const sentAt = bench.now();
    const calls = second % everySeconds === 0 ? sold.splice(0, 1).map(({ id }) => id) : [];
    if (calls.length > 0) {
      const of = { receiver: "shop", calls, requests: [] };
      await bench.eventsQueue.send({ kind: "deliver", ...of, sentAt, swept: false });
    }
    if (second === seconds / 2) {
      const signed = { body: "{}", headers: {}, receivedAt: bench.now() };
      const call = await claimOf(hooked);
      await bench.eventsQueue.send({ kind: "callback", account: "webhook", call, signed });
    }
    await bench.simulateEvents(1, { consumers, batchSize: 10 });
    const isListed = (await documentOf(bench, "do-not-call", hashOf(number))) !== undefined;
    if (isListed) listedAfter = Math.min(listedAfter, second - seconds / 2);
  }
  const delivered = bench.posted.filter(({ receiver }) => receiver === "shop").length;
  return { delivered, listedAfter };
}

describe("an account whose records answer late", () => {
  const all = { delivered: seconds / everySeconds };
  it("delays no events and no opt-outs of others: 5 callbacks a second, 15 s", async () => {
    const hanging = { callbacks: 5, answerMs: 15_000, fails: true, consumers: 6 };
    const { listedAfter, ...rest } = await followCallbacks(hanging);
    expect(rest).toEqual(all);
    expect(listedAfter).toBeLessThan(20);
  });

  it.each([
    { callbacks: 5, answerMs: 300, fails: false, consumers: 6 },
    { callbacks: 10, answerMs: 15_000, fails: true, consumers: 20 },
    { callbacks: 2, answerMs: 4_000, fails: false, consumers: 6 },
  ])(
    "delays none of others: $callbacks callbacks a second, $answerMs ms",
    inSlowTier,
    async (records) => {
      const { listedAfter, ...rest } = await followCallbacks(records);
      expect(rest).toEqual(all);
      expect(listedAfter).toBeLessThan(20);
    },
  );
});
