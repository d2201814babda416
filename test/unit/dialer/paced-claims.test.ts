import { describe, expect, it } from "vitest";
import { toPace } from "#shared/telephony/rate.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { createPacedDelivery, recordPermit } from "#functions/dialer/record/paced-claims.ts";

/** A delivery's connections, for which it has twice as many claims. */
const connections = 25;
const account = (name: string, callsPerSecond?: number) => ({
  name,
  pace: callsPerSecond === undefined ? undefined : toPace(callsPerSecond, 1),
});

const calls = (count: number) => Array.from({ length: count }, () => "a");

/** Returns a process that gets deliveries of calls, told by their accounts. */
function createProcess() {
  const memory = createDialerMemory();
  memory.paced.set("a", { atOnce: 60, reducedAt: 0, crowdedAt: -Infinity, deliveries: new Set() });
  let now = 0;
  const clock = { now: () => now, sleep: async () => undefined };
  const paces: Record<string, number> = { a: 300, slow: 5 };
  return {
    memory,
    clock,
    at: (time: number) => void (now = time),
    /** Returns a delivery whose calls all claim, and which ends some of them. */
    deliver(names: string[], until = 1000, onSending = () => undefined) {
      const accounts = names.map((name) => account(name, paces[name]));
      const delivery = createPacedDelivery(accounts, { until, onSending }, { memory, clock });
      const claims = names.map((name) => {
        const ended = Promise.withResolvers<void>();
        return { end: ended.resolve, done: delivery.claim(name, () => ended.promise) };
      });
      const end = async (count: number) => {
        for (const claim of claims.splice(0, count)) {
          claim.end();
          await claim.done;
        }
      };
      return { ...delivery, end };
    },
  };
}

/** Returns the claims at once of an account of which so many permits were void, a tenth of a second apart. */
function afterVoids(count: number): number {
  const memory = createDialerMemory();
  for (let n = 1; n <= count; n++) recordPermit("a", { met: "late", now: n * 101 }, memory);
  return memory.paced.get("a")?.atOnce ?? 0;
}

describe("what a process claims of a paced account", () => {
  it("is less after void permits, once in a tenth of a second, and never less than ten", () => {
    expect(afterVoids(1)).toBe(340);
    expect(afterVoids(2)).toBeCloseTo(289);
    expect(afterVoids(100)).toBe(10);
    const memory = createDialerMemory();
    for (let n = 0; n < 20; n++) recordPermit("a", { met: "late", now: 1000 + n }, memory);
    expect(memory.paced.get("a")?.atOnce).toBe(340);
  });

  it("grows with each permit in time, faster before the first void one", () => {
    const memory = createDialerMemory();
    recordPermit("a", { met: "in_time", now: 0 }, memory);
    expect(memory.paced.get("a")?.atOnce).toBeCloseTo(408);
    recordPermit("b", { met: "late", now: 1000 }, memory);
    recordPermit("b", { met: "in_time", now: 1001 }, memory);
    expect(memory.paced.get("b")?.atOnce).toBeCloseTo(341.36);
    for (let n = 0; n < 1000; n++) recordPermit("a", { met: "in_time", now: n }, memory);
    expect(memory.paced.get("a")?.atOnce).toBe(2000);
  });

  it("belongs to the oldest deliveries with calls of the account, as far as they can use it", async () => {
    const { deliver } = createProcess();
    // It holds its calls for long, and none is of the account.
    deliver(["slow", "unpaced"]);
    const first = deliver(calls(60));
    const second = deliver(calls(8));
    const third = deliver(calls(60));
    const limits = () => [first, second, third].map((one) => one.limitOf("a", connections));
    expect(limits()).toEqual([50, 10, 2]);
    await first.end(59);
    expect(limits()).toEqual([50, 50, 50]);
    await first.end(1);
    expect(limits().slice(1)).toEqual([50, 50]);
  });

  it("is not held by calls that wait for a check or for their time", () => {
    const { memory, deliver, clock } = createProcess();
    const waiting = calls(50).map((name) => account(name, 300));
    createPacedDelivery(waiting, { until: 1000, onSending: () => undefined }, { memory, clock });
    expect(deliver(calls(60)).limitOf("a", connections)).toBe(50);
  });

  it("does not count requests under way", async () => {
    const { deliver } = createProcess();
    const first = deliver(calls(50));
    const second = deliver(calls(50));
    const answer = Promise.withResolvers<string>();
    const sent = [first, second, second].map((one) => one.send("a", () => answer.promise));
    expect(first.limitOf("a", connections)).toBe(50);
    expect(second.limitOf("a", connections)).toBe(13);
    answer.resolve("placed");
    expect(await Promise.all(sent)).toEqual(["placed", "placed", "placed"]);
    expect(second.limitOf("a", connections)).toBe(10);
  });

  it("counts a request before it begins", async () => {
    const { deliver } = createProcess();
    const steps: string[] = [];
    const first = deliver(calls(50), 1000, () => void steps.push("counted"));
    await first.send("a", async () => void steps.push("begun"));
    expect(steps).toEqual(["counted", "begun"]);
  });

  it("is not held by a delivery whose invocation was ended from outside", () => {
    const { deliver, at } = createProcess();
    deliver(calls(50));
    const next = deliver(calls(50), 2000);
    expect(next.limitOf("a", connections)).toBe(10);
    at(1000);
    expect(next.limitOf("a", connections)).toBe(50);
  });

  it("is a call a connection for a minute after one missed its permit in the wait for it", () => {
    const { memory, deliver, at } = createProcess();
    recordPermit("a", { met: "crowded", now: 0 }, memory);
    expect(memory.paced.get("a")?.atOnce).toBe(60);
    const delivery = deliver(calls(60), 100_000);
    expect(delivery.limitOf("a", connections)).toBe(25);
    at(59_999);
    expect(delivery.limitOf("a", connections)).toBe(25);
    at(60_000);
    expect(delivery.limitOf("a", connections)).toBe(50);
  });

  it("bounds no account without a pace", async () => {
    const { deliver, memory } = createProcess();
    const delivery = deliver(["unpaced"]);
    expect(delivery.limitOf("unpaced", connections)).toBe(50);
    expect(await delivery.send("unpaced", async () => "placed")).toBe("placed");
    await delivery.end(1);
    expect(memory.paced.has("unpaced")).toBe(false);
  });
});
