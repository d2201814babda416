import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Bench, callsTo, startBench } from "../support/schedule-bench.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";

/**
 * Counts the arrivals that come before the pace permits them: a burst of one and one late permit may be ahead of the rate.
 * A busy machine makes arrivals late, never early. That a pace is used to the full is shown in simulated time.
 */
function countEarly(
  times: readonly number[],
  { postedAt, callsPerSecond }: { postedAt: number; callsPerSecond: number },
): number {
  const inOrder = times.toSorted((a, b) => a - b);
  const aheadMax = 2 + callsPerSecond / 10;
  return inOrder.filter((at, n) => at < postedAt + ((n - aheadMax) / callsPerSecond) * 1000).length;
}

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
      for (const { received } of [slow, fast]) {
        expect(received).toHaveLength(new Set(received.map(({ id }) => id)).size);
      }
    });

    it("hands 40 calls over at 2 a second", async () => {
      const bench = slow;
      const agent = "agent";
      const postedAt = Date.now();
      await bench.post(callsTo(agent, 40));
      await until(() => bench.receivedBy(agent).length >= 40);
      const times = bench.receivedBy(agent).map(({ at }) => at);
      expect(times).toHaveLength(40);
      expect(countEarly(times, { postedAt, callsPerSecond: 2 })).toBe(0);
    });

    it("keeps a backlog of 240 at 20 a second moving, and a later call behind it", async () => {
      const bench = fast;
      const agent = "backlog";
      const postedAt = Date.now();
      await bench.post(callsTo(agent, 240));
      await until(() => bench.receivedBy(agent).length >= 3 * 20);
      // The client and agent are the same: another backlog would have its share at once.
      await bench.post(callsTo(agent, 241).slice(240));
      await until(() => bench.receivedBy(agent).length >= 241);
      expect(bench.receivedBy(agent)).toHaveLength(241);
      const times = bench.receivedBy(agent).map(({ at }) => at);
      expect(countEarly(times, { postedAt, callsPerSecond: 20 })).toBe(0);
      const number = callsTo(agent, 241).at(240)?.phone_number ?? "";
      const last = bench.receivedBy(agent).find(({ text }) => text.includes(number));
      const before = times.filter((at) => at < (last?.at ?? 0)).length;
      // A call is handed out up to eight seconds ahead of its time, and takes the first free permit then.
      expect(before).toBeGreaterThanOrEqual(240 - 8 * 20);
    });
  });
}
