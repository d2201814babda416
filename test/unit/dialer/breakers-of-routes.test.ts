import { describe, expect, it } from "vitest";
import type { DialOutcome } from "../../../shared/providers/dialing-provider.ts";
import { createDialerBench } from "../../support/dialer.ts";
import {
  aCallNow,
  allIn,
  type Bench,
  callsNow,
  documentOf,
  numberOf,
  rowOf,
  rowsIn,
  sendEach,
  stateOf,
  statesOf,
  webhook,
} from "../../support/dialer-calls.ts";

const placed: DialOutcome = { kind: "placed" };
const rejected: DialOutcome = { kind: "rejected", code: "http_404" };
const opened = (bench: Bench) => bench.eventsOf("breaker.opened").map(({ breaker }) => breaker);
/** Returns the times at which calls were dialed, in seconds since `from`. */
const secondsSince = (bench: Bench, from: number) =>
  bench.dialed.filter(({ at }) => at >= from).map(({ at }) => (at - from) / 1000);

describe("the breaker of a route", () => {
  const agents = {
    agent_sales: webhook,
    agent_support: { ...webhook, url: "http://127.0.0.1:9/support" },
  };
  const names = (bench: Bench) => opened(bench).map((name) => name?.split(":")[0]);

  it("opens at once by a refusal of what the route brings, and no other of its account", async () => {
    const bench = createDialerBench({ plan: { agents } });
    let isRepaired = false;
    bench.answer = async ({ request }) =>
      request.agent_id === "agent_sales" && !isRepaired
        ? { kind: "route_refused", code: "twilio_21210" }
        : placed;
    const [first, ...rest] = callsNow(bench, 5);
    const others = callsNow(bench, 5, { agent_id: "agent_support" });
    if (first === undefined) throw new Error("no call was made");
    await sendEach(bench, first);
    await bench.deliver();
    expect(await rowOf(bench, first)).toMatchObject({ state: "WAITING", reason: "twilio_21210" });
    await sendEach(bench, ...rest, ...others);
    await bench.deliver();
    expect(bench.dialed).toHaveLength(6);
    expect(names(bench)).toEqual(["route"]);
    await bench.simulate(200);
    const probes = bench.dialed.length - 6;
    expect(probes).toBeGreaterThanOrEqual(1);
    expect(probes).toBeLessThanOrEqual(3);
    isRepaired = true;
    await bench.simulate(900);
    const all = [first, ...rest, ...others];
    expect(await statesOf(bench, all)).toEqual(allIn(all, "PLACED"));
    expect(bench.eventsOf("breaker.closed")).toHaveLength(1);
  });

  it("starts closed for a corrected plan", async () => {
    const bench = createDialerBench({ plan: { agents } });
    bench.answer = async () => ({ kind: "route_refused", code: "twilio_21210" });
    const calls = callsNow(bench, 3);
    await sendEach(bench, ...calls);
    await bench.deliver();
    bench.answer = async () => placed;
    const corrected = { ...webhook, url: "http://127.0.0.1:9/corrected" };
    bench.changePlan({ agents: { ...agents, agent_sales: corrected } });
    await bench.simulate(70);
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
  });
});

describe("the breaker of an agent", () => {
  const dialOneByOne = async (
    bench: Bench,
    count: number,
    answerOf: (n: number) => DialOutcome,
  ) => {
    for (let n = 0; n < count; n++) {
      bench.answer = async () => answerOf(n);
      await sendEach(bench, aCallNow(bench, { phone_number: numberOf(n) }));
      await bench.deliver();
    }
  };

  it("opens after twenty equal refusals in a row, and lets one call through every 8 s", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    await dialOneByOne(bench, 30, () => rejected);
    expect(bench.dialed).toHaveLength(20);
    expect(opened(bench)).toEqual(["agent:agent_sales"]);
    for (const { reason } of await rowsIn(bench, "WAITING")) expect(reason).toBe("breaker_open");
    const other = aCallNow(bench, { agent_id: "agent_support" });
    bench.answer = async () => placed;
    await sendEach(bench, other);
    await bench.deliver();
    expect(await stateOf(bench, other)).toBe("PLACED");
    bench.answer = async () => rejected;
    const from = bench.now();
    await bench.simulate(300);
    const trickle = secondsSince(bench, from + 1);
    const gaps = trickle.slice(1).map((at, n) => at - (trickle[n] ?? 0));
    expect(trickle).toHaveLength(10);
    expect(Math.min(...gaps)).toBeGreaterThan(7.999);
    expect(trickle.at(-1)).toBeLessThan(160);
  });

  it("closes by a success", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    await dialOneByOne(bench, 40, () => rejected);
    bench.answer = async () => placed;
    await bench.simulate(200);
    expect(bench.eventsOf("breaker.closed")).toMatchObject([{ breaker: "agent:agent_sales" }]);
    expect(await rowsIn(bench, "PLACED")).toHaveLength(20);
  });

  it.each<[string, (n: number) => DialOutcome]>([
    [
      "different refusals",
      (n) => ({ kind: "rejected", code: n % 7 === 6 ? "http_400" : "http_404" }),
    ],
    ["refusals with a success between them", (n) => (n % 15 === 14 ? placed : rejected)],
    [
      "refusals that blame the number",
      () => ({ kind: "rejected", code: "http_404", blamesNumber: true }),
    ],
  ])("does not open by %s", async (_, answerOf) => {
    const bench = createDialerBench({ concurrency: 1 });
    await dialOneByOne(bench, 60, answerOf);
    expect(bench.dialed).toHaveLength(60);
    expect(opened(bench)).toEqual([]);
  });

  it("does not open by refusals of one number, counted once by a process", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    bench.answer = async () => rejected;
    for (let n = 0; n < 40; n++) {
      await sendEach(bench, aCallNow(bench));
      await bench.deliver();
    }
    expect(opened(bench)).toEqual([]);
    expect((await documentOf(bench, "failures", "agent:agent_sales"))?.value).toEqual({
      http_404: 1,
    });
  });

  it("counts a 403, which goes to a person", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    await dialOneByOne(bench, 30, () => ({ kind: "forbidden", code: "http_403" }));
    expect(bench.dialed).toHaveLength(20);
    expect(opened(bench)).toEqual(["agent:agent_sales"]);
    expect(await rowsIn(bench, "NEEDS_REVIEW")).toHaveLength(20);
  });
});
