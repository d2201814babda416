import { describe, expect, it } from "vitest";
import {
  account,
  agents,
  benchOf,
  dialEach,
  placed,
  post,
  refused,
  startAt,
  stateOf,
  times,
  unanswered,
  waitingRows,
} from "./rules-bench.ts";

describe("an account's breaker", () => {
  it("opens on five unanswered requests in a row, and not on four", async () => {
    const bench = benchOf();
    await dialEach(bench, times(4, unanswered));
    expect(await stateOf(bench, account)).toBeUndefined();
    await dialEach(bench, times(1, unanswered));
    expect(await stateOf(bench, account)).toBe("open");
  });

  it("starts a new run of failures after an answer", async () => {
    const bench = benchOf();
    await dialEach(bench, [...times(4, unanswered), placed, ...times(4, unanswered)]);
    expect(await stateOf(bench, account)).toBeUndefined();
  });

  it("opens when half of twenty requests stay unanswered", async () => {
    const bench = benchOf();
    for (let n = 0; n < 10; n++) await dialEach(bench, [unanswered, placed]);
    await dialEach(bench, times(2, unanswered));
    expect(await stateOf(bench, account)).toBe("open");
  });

  it("opens on one refusal, lets a probe through each time later, and closes on a success", async () => {
    const bench = benchOf();
    await dialEach(bench, [{ kind: "account_refused", code: "http_402" }]);
    expect(await stateOf(bench, account)).toBe("open");
    await post(bench, 20);
    await bench.simulate(59);
    expect(bench.dialed).toHaveLength(1);
    await bench.simulate(400);
    const dialedAt = bench.dialed.map(({ at }) => (at - Date.parse(startAt)) / 1000);
    // Probes come at 60, 120 and 240 seconds, and at 480.
    expect(bench.dialed.length).toBeGreaterThan(2);
    expect(bench.dialed.length).toBeLessThanOrEqual(4);
    for (const [index, at] of dialedAt.entries()) {
      if (index > 1) expect(at - (dialedAt[index - 1] ?? 0)).toBeGreaterThan(55);
    }
    bench.answer = async () => placed;
    await bench.simulate(700);
    expect(await stateOf(bench, account)).toBe("closed");
    expect(bench.dialed.length).toBeGreaterThan(20);
  });

  it("lets no probe through before its time", async () => {
    const bench = benchOf();
    const ids = await waitingRows(bench, 1);
    await dialEach(bench, [{ kind: "account_refused", code: "http_402" }]);
    const openedAt = bench.now();
    bench.advance(57_000);
    await bench.send({ kind: "due", ids });
    await bench.deliver();
    for (const { at } of bench.dialed.slice(1)) {
      expect(at).toBeGreaterThanOrEqual(openedAt + 59_000);
    }
  });

  it("admits one of many calls as its probe", async () => {
    const bench = benchOf();
    await dialEach(bench, times(5, unanswered));
    const ids = await waitingRows(bench, 6);
    bench.advance(16_000);
    await bench.send({ kind: "due", ids });
    await bench.deliver();
    expect(bench.dialed).toHaveLength(6);
  });

  it("has as many rows called up as it may probe with", async () => {
    const bench = benchOf();
    await dialEach(bench, [{ kind: "account_refused", code: "http_402" }]);
    await waitingRows(bench, 30);
    bench.advance(30_000);
    const sent = bench.sent();
    await bench.sweep();
    const hinted = bench.queued().flatMap((one) => (one.kind === "due" ? one.ids : []));
    expect(bench.sent()).toBeGreaterThan(sent);
    expect(hinted.length).toBeLessThan(4);
  });
});

describe("a route's breaker", () => {
  it("opens on one answer that names the route, and starts closed with a corrected plan", async () => {
    const bench = benchOf();
    await dialEach(bench, [{ kind: "route_refused", code: "from_not_verified" }]);
    bench.answer = async () => placed;
    await post(bench, 1);
    await bench.deliver();
    expect(bench.dialed).toHaveLength(1);
    await post(bench, 1, { agent: "agent_support" });
    await bench.deliver();
    expect(bench.dialed).toHaveLength(2);
    bench.changePlan({
      agents: { ...agents, agent_sales: { provider: "webhook", url: "https://one.example/other" } },
    });
    await post(bench, 1);
    await bench.deliver();
    expect(bench.dialed).toHaveLength(3);
  });
});

describe("an agent's breaker", () => {
  const agent = "agent:agent_sales";

  it("opens on twenty equal refusals, and not on nineteen", async () => {
    const bench = benchOf();
    await dialEach(bench, times(19, refused));
    expect(await stateOf(bench, agent)).toBeUndefined();
    await dialEach(bench, times(1, refused));
    expect(await stateOf(bench, agent)).toBe("open");
  });

  it("stays closed when the refusals blame the number", async () => {
    const bench = benchOf();
    await dialEach(bench, times(25, { ...refused, blamesNumber: true }));
    expect(await stateOf(bench, agent)).toBeUndefined();
  });

  it("stays closed where one number is refused again and again", async () => {
    const bench = benchOf();
    bench.answer = async () => refused;
    for (let n = 0; n < 25; n++) {
      await post(bench, 1, { number: "+12025550000" });
      await bench.deliver();
    }
    expect(bench.dialed).toHaveLength(25);
    expect(await stateOf(bench, agent)).toBeUndefined();
  });
});
