import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import {
  breakerOf,
  createBreakersBench as createBench,
  gapsSince,
  own,
  placed,
  stateOfBreaker,
} from "#test/support/breakers-bench.ts";
import { aCallNow, allIn, type Bench, putIn, statesOf } from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const notPermitted: DialOutcome = { kind: "rejected", code: "telnyx_d13" };
/** Numbers of a country, by their index. */
const countries: Record<string, (index: number) => string> = {
  US: (index) => `+1303555${String(index).padStart(4, "0")}`,
  ES: (index) => `+346123${String(index).padStart(5, "0")}`,
  FR: (index) => `+336123${String(index).padStart(5, "0")}`,
  GB: (index) => `+4474001${String(index).padStart(5, "0")}`,
  DE: (index) => `+491511${String(index).padStart(7, "0")}`,
};
const isSpanish = ({ request }: Call) => request.phone_number.startsWith("+34");

/** Puts calls into one backlog, due in this order. */
async function putCampaign(bench: Bench, numbers: readonly string[]): Promise<Call[]> {
  const calls = numbers.map((phone_number) =>
    aCallNow(bench, { phone_number, timezone: "UTC" }, { client: "crm" }),
  );
  for (const [index, call] of calls.entries()) {
    await putIn(bench, "WAITING", call, { dueAt: bench.now() - calls.length + index });
  }
  return calls;
}

const numbersOf = (country: string, count: number) =>
  Array.from({ length: count }, (_, index) => countries[country]?.(index) ?? "");

const createCampaignBench = () => {
  const bench = createBench();
  bench.changePlan({
    agents: { agent_sales: { provider: "vapi", agent: "a", from: "n" } },
    destinations: { allow: Object.keys(countries) },
    providers: { vapi: { callsPerSecond: 10 } },
  });
  bench.answer = async (call) => (isSpanish(call) ? notPermitted : placed);
  return bench;
};

describe("a campaign to a country that the account may not call", () => {
  it("stops after twenty refusals, with one alarm that names the country, and uses up no more calls", async () => {
    const bench = createCampaignBench();
    const calls = await putCampaign(bench, numbersOf("ES", 200));
    await bench.simulate(30);
    expect(bench.eventsOf("breaker.opened")).toMatchObject([
      { level: "alarm", breaker: own, code: "telnyx_d13", countries: "ES" },
    ]);
    const openedAt = (await breakerOf(bench, own))?.openedAt ?? 0;
    // Five requests at most were under way when the twentieth was answered.
    expect(bench.dialed.filter(({ at }) => at <= openedAt).length).toBeLessThanOrEqual(25);
    const from = bench.now();
    await bench.simulate(120);
    const gaps = gapsSince(bench, from);
    expect(gaps.length).toBeGreaterThanOrEqual(2);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(8);
    const states = await statesOf(bench, calls);
    const before = bench.dialed.filter(({ at }) => at <= openedAt).length;
    expect(states.filter((state) => state === "REJECTED")).toHaveLength(before);
    expect(states.filter((state) => state === "WAITING")).toHaveLength(200 - before);
    expect(bench.eventsOf("breaker.opened")).toHaveLength(1);
    expect(JSON.stringify(bench.events)).not.toMatch(/346123/);
    // Its owner has the provider permit the country.
    bench.answer = async () => placed;
    await bench.simulate(240);
    expect(await stateOfBreaker(bench, own)).toBeUndefined();
    const now = await statesOf(bench, calls);
    expect(now.filter((state) => state === "PLACED")).toHaveLength(200 - before);
  });

  const four = ["US", "FR", "GB", "DE"];
  const [spanish, others] = [numbersOf("ES", 200), four.flatMap((one) => numbersOf(one, 200))];
  const inTurn = spanish.flatMap((number, index) => [
    number,
    ...four.map((one) => countries[one]?.(index) ?? ""),
  ]);
  it.each([
    ["in turn", inTurn, 300, 0],
    ["the forbidden one last", [...others, ...spanish], 2_400, 1],
  ])(
    "places all others of 1,000 calls to five countries: %s",
    inSlowTier,
    async (_, numbers, seconds, alarms) => {
      const bench = createCampaignBench();
      const calls = await putCampaign(bench, numbers);
      await bench.simulate(seconds);
      const permitted = calls.filter((call) => !isSpanish(call));
      expect(permitted).toHaveLength(800);
      expect(await statesOf(bench, permitted)).toEqual(allIn(permitted, "PLACED"));
      expect(bench.eventsOf("breaker.opened")).toHaveLength(alarms);
    },
  );
});
