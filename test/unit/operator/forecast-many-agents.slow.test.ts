import { expect, it } from "vitest";
import { callsOf, createForecastBench } from "#test/support/forecast-bench.ts";

it("forecasts ten thousand calls to as many agents as fast as to one", async () => {
  const bench = createForecastBench({
    agents: { "*": { provider: "webhook", url: "http://127.0.0.1:9/dial" } },
    providers: { webhook: { callsPerSecond: 100, burst: 1 } },
  });
  const timeOf = async (agents: number) => {
    const calls = callsOf(10_000).map((call, index) => ({
      ...call,
      agent_id: `agent_${(index * 7919) % agents}`,
    }));
    const startedAt = performance.now();
    await bench.forecast(calls);
    return performance.now() - startedAt;
  };
  const ofOne = await timeOf(1);
  expect(await timeOf(10_000)).toBeLessThan(20 * ofOne);
});
