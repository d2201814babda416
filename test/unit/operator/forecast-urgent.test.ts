import { expect, it } from "vitest";
import { callsOf, createForecastBench } from "#test/support/forecast-bench.ts";
import { ownAccount, putDocument, putWaiting } from "#test/support/dialer-calls.ts";

const route = { provider: "webhook", url: "http://127.0.0.1:9/dial" };
const plan = {
  providers: { webhook: { callsPerSecond: 1 } },
  agents: { agent_sales: route, agent_care: route },
};

it("a forecast has the urgent calls of a client go before its others", async () => {
  const bench = createForecastBench(plan);
  const busy = { quick: true, busy: true };
  await putDocument(bench.dialer, { kind: "account", key: ownAccount }, busy);
  await putWaiting(bench.dialer, 3, 0, { urgent: true });
  const posted = callsOf(2, { agent_id: "agent_care" });
  const { items = [] } = await bench.forecast(posted);
  expect(items.map(({ at }) => at)).toEqual([
    "2026-06-01T10:00:03.000Z",
    "2026-06-01T10:00:04.000Z",
  ]);
});

it("a forecast has a call wait for its own Call-Not-Before, and not for a neighbour's", async () => {
  const bench = createForecastBench(plan);
  const notBefore = bench.dialer.now() + 60_000;
  await putWaiting(bench.dialer, 1, 60_000, { notBefore });
  const posted = callsOf(2, { agent_id: "agent_care" });
  const { items = [], accounts } = await bench.forecast(posted);
  expect(items.map(({ at }) => at)).toEqual([
    "2026-06-01T10:00:00.000Z",
    "2026-06-01T10:00:01.000Z",
  ]);
  expect(accounts[0]?.waiting).toMatchObject({ calls: 1, last_at: "2026-06-01T10:01:00.000Z" });
});
