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
    afterAll(async () => {
      await Promise.all([slow, fast].map((bench) => bench.end()));
      // Other work on these cores may spoil a try at keeping time, but no try may dial a call twice.
      for (const { received } of [slow, fast]) {
        expect(received).toHaveLength(new Set(received.map(({ id }) => id)).size);
      }
    });
    let tries = 0;
    const agentOfTry = (name: string) => `${name}_${(tries += 1)}`;

    it("hands 40 calls over at 2 a second", async () => {
      const bench = slow;
      const agent = agentOfTry("agent");
      const postedAt = Date.now();
      await bench.post(callsTo(agent, 40));
      await until(() => bench.receivedBy(agent).length >= 40, 60_000);
      const times = bench.receivedBy(agent).map(({ at }) => at);
      expect(times).toHaveLength(40);
      expect(Math.max(...times) - postedAt).toBeGreaterThanOrEqual(18_000);
      expect(Math.max(...times) - postedAt).toBeLessThanOrEqual(32_000);
      expect(peakOf(times)).toBeLessThanOrEqual(3);
    });

    it("keeps a backlog of 500 at 20 a second moving, and a later call behind it", async () => {
      const bench = fast;
      const agent = agentOfTry("backlog");
      await bench.post(callsTo(agent, 500));
      await until(() => bench.receivedBy(agent).length >= 3 * 20, 30_000);
      // The client and agent are the same: another backlog would have its share at once.
      await bench.post(callsTo(agent, 501).slice(500));
      await until(() => bench.receivedBy(agent).length >= 501, 90_000);
      expect(bench.receivedBy(agent)).toHaveLength(501);
      const times = bench.receivedBy(agent).map(({ at }) => at);
      // Five calls of an agent that was never answered go first, and the others from the next look on.
      const later = times.toSorted((a, b) => a - b).slice(20);
      const seconds = (Math.max(...later) - Math.min(...later)) / 1000;
      expect(later.length / seconds).toBeGreaterThanOrEqual(20 * 0.9);
      expect(peakOf(times)).toBeLessThanOrEqual(21 + 6); // on busy cores a request arrives late
      const number = callsTo(agent, 501).at(500)?.phone_number ?? "";
      const last = bench.receivedBy(agent).find(({ text }) => text.includes(number));
      const before = times.filter((at) => at < (last?.at ?? 0)).length;
      // A call is handed out some seconds ahead of its time, and takes the first free permit then.
      expect(before).toBeGreaterThanOrEqual(500 - 4 * 20);
    });
  });
}
