import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Bench, callsTo, startBench } from "../support/schedule-bench.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";

/** Maximum number of times within any one second. */
const peakOf = (times: number[]) =>
  Math.max(...times.map((at) => times.filter((other) => other >= at && other < at + 1000).length));

/** Describes the pace of the running service, on any platform. */
export function describePace(platform: PlatformUnderTest): void {
  // The tests run concurrently, each with a service of its own, as they mostly wait.
  describe.concurrent(`${platform.script} with a pace`, () => {
    const paced = (callsPerSecond: number) => (route: object) => ({
      agents: { "*": route },
      providers: { webhook: { callsPerSecond } },
    });
    let slow: Bench;
    let fast: Bench;
    // One after another, and before the first call: starting a service takes both cores for seconds.
    beforeAll(async () => {
      slow = await startBench(platform, paced(2));
      fast = await startBench(platform, paced(20));
    });
    afterAll(() => Promise.all([slow, fast].map((bench) => bench.end())));

    it("hands 60 calls at 2 a second over in half a minute", async () => {
      const bench = slow;
      const postedAt = Date.now();
      await bench.post(callsTo("agent", 60));
      await until(() => bench.received.length >= 60, 60_000);
      const times = bench.received.map(({ at }) => at);
      expect(new Set(bench.received.map(({ id }) => id)).size).toBe(60);
      expect(times).toHaveLength(60);
      expect(Math.max(...times) - postedAt).toBeGreaterThanOrEqual(28_000);
      expect(Math.max(...times) - postedAt).toBeLessThanOrEqual(42_000);
      expect(peakOf(times)).toBeLessThanOrEqual(3);
    });

    it("keeps a backlog of 500 at 20 a second moving, and a later call behind it", async () => {
      const bench = fast;
      await bench.post(callsTo("backlog", 500));
      await until(() => bench.received.length >= 3 * 20, 30_000);
      // The client and agent are the same: another backlog would have its share at once.
      await bench.post(callsTo("backlog", 501).slice(500));
      await until(() => bench.received.length >= 501, 90_000);
      expect(new Set(bench.received.map(({ id }) => id)).size).toBe(501);
      const times = bench.receivedBy("backlog").map(({ at }) => at);
      // Five calls of an agent that was never answered go first, and the others from the next look on.
      const later = times.toSorted((a, b) => a - b).slice(20);
      const seconds = (Math.max(...later) - Math.min(...later)) / 1000;
      expect(later.length / seconds).toBeGreaterThanOrEqual(20 * 0.9);
      expect(peakOf(times)).toBeLessThanOrEqual(21 + 6); // on busy cores a request arrives late
      const number = callsTo("backlog", 501).at(500)?.phone_number ?? "";
      const last = bench.received.find(({ text }) => text.includes(number));
      const before = times.filter((at) => at < (last?.at ?? 0)).length;
      // A call is handed out some seconds ahead of its time, and takes the first free permit then.
      expect(before).toBeGreaterThanOrEqual(500 - 4 * 20);
    });
  });
}
