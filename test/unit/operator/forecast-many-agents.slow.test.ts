import { expect, it } from "vitest";
import { callsOf, createForecastBench } from "#test/support/forecast-bench.ts";

it("forecasts ten thousand calls to as many agents with about the work of one", async () => {
  const bench = createForecastBench({
    agents: { "*": { provider: "webhook", url: "http://127.0.0.1:9/dial" } },
    providers: { webhook: { callsPerSecond: 100, burst: 1 } },
  });
  /** Returns the CPU time of a forecast, which a busy machine does not lengthen. */
  const workOf = async (agents: number) => {
    const calls = callsOf(10_000).map((call, index) => ({
      ...call,
      agent_id: `agent_${(index * 7919) % agents}`,
    }));
    const before = process.cpuUsage();
    await bench.forecast(calls);
    return process.cpuUsage(before).user;
  };
  const ofOne = await workOf(1);
  expect(await workOf(10_000)).toBeLessThan(20 * ofOne);
});
