import { describe, expect, it } from "vitest";
import type { EventAnswer } from "#functions/dialer/runtime/post-event.ts";
import type { Call } from "#shared/calls/call-request.ts";
import { type Bench, callsNow, rowOf, sendEach } from "#test/support/dialer-calls.ts";
import { taken, deliverFor } from "#test/support/events-bench.ts";
import { completed, createBench, minuteMs } from "#test/support/results-bench.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const limitMs = 15_000;
const names = ["crm", "shop", ...Array.from({ length: 12 }, (_, n) => `other-${n}`)];

/** Creates a bench with a receiver for each of many clients. */
function createReceivers(entry: object = {}): Bench {
  const events = names.map((name) => [
    name,
    { url: `http://127.0.0.1:9/${name}`, types: ["call.placed"], ...entry },
  ]);
  return createBench(
    {},
    {
      events: Object.fromEntries(events),
      providers: { twilio: { callsPerSecond: 500 } },
    },
  );
}

/** Places calls of a client, without telling of them. */
async function place(bench: Bench, client: string, count: number): Promise<Call[]> {
  const placed = bench.dialed.length + count;
  const calls = callsNow(bench, count, {}, { client });
  await sendEach(bench, ...calls);
  while (bench.dialed.length < placed) await bench.simulate(0.5, { firstSweepSeconds: 1000 });
  return calls;
}

/** Sends messages of so many calls each that have a receiver told. */
async function sendDeliverMessages(
  bench: Bench,
  receiver: string,
  calls: readonly Call[],
  each: number,
) {
  for (let start = 0; start < calls.length; start += each) {
    await bench.eventsQueue.send({
      kind: "deliver",
      receiver,
      calls: calls.slice(start, start + each).map(({ id }) => id),
      requests: [],
      sentAt: bench.now(),
      swept: false,
    });
  }
}

const postsTo = (bench: Bench, receiver: string) =>
  bench.posted.filter((one) => one.receiver === receiver);

/** Answers of a receiver that hangs until its request's time limit. */
async function hang(bench: Bench): Promise<EventAnswer> {
  await bench.sleep(limitMs);
  return { error: "time_out" };
}

describe("a receiver's backlog", () => {
  it.each([1, 100])(
    "of 600 events, %i a message, delays no other receiver",
    inSlowTier,
    async (each) => {
      const bench = createReceivers();
      bench.receive = async () => {
        await bench.sleep(50);
        return taken;
      };
      const many = await place(bench, "crm", 600);
      bench.eventsQueue.take();
      const beganAt = bench.now();
      await sendDeliverMessages(bench, "crm", many, each);
      await place(bench, "shop", 1);
      await bench.simulateEvents(58);
      const [first] = postsTo(bench, "shop");
      expect((first?.at ?? Infinity) - beganAt).toBeLessThanOrEqual(3_000);
      // Its own pace of twenty a second is kept, and mostly used.
      expect(postsTo(bench, "crm").length).toBeGreaterThan(500);
    },
  );

  it("is sent by one delivery at a time, at the receiver's pace", inSlowTier, async () => {
    const bench = createReceivers({ requestsPerSecond: 1000 });
    let underWay = 0;
    let most = 0;
    bench.receive = async () => {
      most = Math.max(most, ++underWay);
      await bench.sleep(400);
      underWay -= 1;
      return taken;
    };
    const many = await place(bench, "crm", 200);
    bench.eventsQueue.take();
    await sendDeliverMessages(bench, "crm", many, 1);
    await bench.simulateEvents(58, { consumers: 10 });
    expect(most).toBe(4);
    expect(new Set(postsTo(bench, "crm").map(({ id }) => id)).size).toBe(200);
    expect(postsTo(bench, "crm")).toHaveLength(200);
  });
});

describe("a turn", () => {
  it("is short: with a single delivery at a time, others have theirs in between", async () => {
    const bench = createReceivers();
    const many = await place(bench, "crm", 100);
    const [one] = await place(bench, "shop", 1);
    bench.eventsQueue.take();
    const beganAt = bench.now();
    await sendDeliverMessages(bench, "crm", many, 100);
    await sendDeliverMessages(bench, "shop", one === undefined ? [] : [one], 1);
    await bench.simulateEvents(20, { consumers: 1, batchSize: 1 });
    expect((postsTo(bench, "shop")[0]?.at ?? Infinity) - beganAt).toBeLessThanOrEqual(2_000);
    expect(postsTo(bench, "crm")).toHaveLength(100);
  });

  it("keeps to the pace of the one before it", async () => {
    const bench = createReceivers({ requestsPerSecond: 2 });
    const many = await place(bench, "crm", 12);
    bench.eventsQueue.take();
    await sendDeliverMessages(bench, "crm", many, 1);
    await bench.simulateEvents(40, { consumers: 1, batchSize: 1 });
    const times = postsTo(bench, "crm").map(({ at }) => at);
    expect(times).toHaveLength(12);
    for (const [n, at] of times.slice(1).entries()) {
      expect(at - (times[n] ?? 0)).toBeGreaterThanOrEqual(500);
    }
  });

  it("belongs to one delivery if two have seen that no delivery serves the receiver", async () => {
    const bench = createReceivers();
    let underWay = 0;
    let most = 0;
    bench.receive = async () => {
      most = Math.max(most, ++underWay);
      await bench.sleep(900);
      underWay -= 1;
      return taken;
    };
    const many = await place(bench, "crm", 20);
    bench.eventsQueue.take();
    await sendDeliverMessages(bench, "crm", many, 10);
    bench.breakDocuments({
      async read(keys) {
        const read = await bench.documents.read(keys);
        await bench.sleep(20);
        return read;
      },
    });
    await bench.simulateEvents(30, { consumers: 2, batchSize: 1 });
    expect(most).toBe(4);
    expect(postsTo(bench, "crm")).toHaveLength(20);
  });
});

describe("a receiver that hangs", () => {
  it.each([
    { platform: "Cloudflare", consumers: 20, concurrency: 5, count: 12 },
    { platform: "AWS", consumers: 6, concurrency: 25, count: 5 },
    { platform: "a local run", consumers: 4, concurrency: 25, count: 3 },
  ])(
    "delays no other by more than three seconds, though $count hang at once, as on $platform",
    inSlowTier,
    async ({ consumers, concurrency, count }) => {
      const bench = createReceivers();
      bench.deps.concurrency = concurrency;
      const hanging = names.filter((name) => name.startsWith("other")).slice(0, count);
      bench.receive = async (receiver) => (hanging.includes(receiver) ? hang(bench) : taken);
      for (const name of hanging) await place(bench, name, 10);
      const delays: number[] = [];
      for (let n = 0; n < 24; n++) {
        await place(bench, "shop", 1);
        const sentAt = bench.now();
        await bench.simulateEvents(5, { consumers });
        delays.push((postsTo(bench, "shop")[n]?.at ?? Infinity) - sentAt);
        if (n % 8 === 7) await bench.sweep();
      }
      expect(Math.max(...delays)).toBeLessThanOrEqual(3_000);
      expect(postsTo(bench, hanging[0] ?? "").length).toBeGreaterThan(2);
    },
  );

  it("holds one request at a time after the first time-out, and gets all when it is back", async () => {
    const bench = createReceivers();
    let underWay = 0;
    const counts: { at: number; underWay: number }[] = [];
    bench.receive = async () => {
      counts.push({ at: bench.now(), underWay: ++underWay });
      const answer = await hang(bench);
      underWay -= 1;
      return answer;
    };
    const many = await place(bench, "crm", 40);
    const firstAt = bench.now();
    for (let minute = 0; minute < 4; minute++) {
      await bench.sweep();
      await bench.simulateEvents(60, { consumers: 10 });
    }
    expect(Math.max(...counts.map((one) => one.underWay))).toBe(4);
    const later = counts.filter(({ at }) => at > firstAt + limitMs + 2_000);
    expect(later.length).toBeGreaterThan(0);
    expect(later.map((one) => one.underWay)).toEqual(later.map(() => 1));
    // One by the message of each sweep.
    expect(later.length).toBeLessThanOrEqual(4);
    bench.receive = async () => taken;
    await deliverFor(bench, 60);
    const told = new Set(bench.posted.map(({ id }) => id));
    for (const { id } of many) expect(told).toContain(`${id}.1`);
    expect(
      (await bench.documents.read([{ kind: "receiver", key: "crm" }])).get("receiver", "crm"),
    ).toMatchObject({ value: { isSlow: false, leaseUntil: 0 } });
  });

  it("gets its next event by its own message, once it was left alone for a minute", async () => {
    const bench = createReceivers();
    bench.receive = () => hang(bench);
    await place(bench, "crm", 1);
    await bench.simulateEvents(30);
    bench.receive = async () => taken;
    await bench.sweep();
    const before = postsTo(bench, "crm").length;
    await place(bench, "crm", 1);
    await bench.simulateEvents(10);
    expect(postsTo(bench, "crm")).toHaveLength(before); // it was tried within the minute
    bench.eventsQueue.take();
    bench.advance(minuteMs);
    await place(bench, "crm", 1);
    const sentAt = bench.now();
    await bench.simulateEvents(10);
    const [next] = postsTo(bench, "crm").slice(before);
    expect((next?.at ?? Infinity) - sentAt).toBeLessThanOrEqual(3_000);
  });

  it("is named by one message of a sweep, for as long as it is slow", async () => {
    const bench = createReceivers();
    await place(bench, "crm", 40);
    bench.eventsQueue.take();
    const value = { leaseUntil: 0, nextAt: 0, isSlow: true };
    const key = { kind: "receiver", key: "crm" } as const;
    await bench.documents.write([
      { next: { ...key, version: "slow", value, expiresAt: 1e15 }, seen: null },
    ]);
    bench.advance(minuteMs);
    await bench.sweep();
    const bodies = await Promise.all(bench.eventsQueue.take().map(({ open }) => open()));
    expect(bodies.map((body) => JSON.parse(body))).toMatchObject([
      { kind: "deliver", receiver: "crm", calls: { length: 10 }, swept: true },
    ]);
  });

  it("delays no callback, and no poll of results", async () => {
    const bench = createReceivers();
    bench.receive = async (receiver) => (receiver === "shop" ? taken : hang(bench));
    const calls = await place(bench, "shop", 2);
    bench.eventsQueue.take();
    const recordsAt: number[] = [];
    bench.record = async () => {
      recordsAt.push(bench.now());
      await bench.sleep(200);
      return completed;
    };
    const hanging = names.filter((name) => name !== "shop").slice(0, 8);
    for (const name of hanging) await place(bench, name, 1);
    const beganAt = bench.now();
    for (const { id, claims } of await Promise.all(calls.map((call) => rowOf(bench, call)))) {
      const call = { id, claim: claims.at(-1) ?? "" };
      await bench.eventsQueue.send({ kind: "callback", account: "twilio", call });
    }
    await bench.simulateEvents(30, { consumers: 3 });
    // The second one finds that receivers have all places of its delivery.
    expect((recordsAt[1] ?? Infinity) - beganAt).toBeLessThanOrEqual(3_000);
    bench.advance(10 * minuteMs);
    const askedAt = bench.now();
    await bench.sweep();
    await bench.simulateEvents(30, { consumers: 3 });
    expect((recordsAt[2] ?? Infinity) - askedAt).toBeLessThanOrEqual(3_000);
  });
});

describe("a delivery that dies while it posts to a receiver", () => {
  it("holds it for 45 seconds, and nobody else", async () => {
    const bench = createReceivers();
    const call = firstOf(await place(bench, "crm", 1));
    bench.eventsQueue.take();
    const key = { kind: "receiver", key: "crm" } as const;
    const value = { leaseUntil: bench.now() + 45_000, nextAt: 0, isSlow: false };
    await bench.documents.write([
      { next: { ...key, version: "dead", value, expiresAt: 1e15 }, seen: null },
    ]);
    const beganAt = bench.now();
    await sendDeliverMessages(bench, "crm", [call], 1);
    await bench.simulateEvents(58);
    const [first] = postsTo(bench, "crm");
    expect((first?.at ?? Infinity) - beganAt).toBeGreaterThanOrEqual(45_000);
    expect((first?.at ?? Infinity) - beganAt).toBeLessThanOrEqual(58_000);
  });
});
