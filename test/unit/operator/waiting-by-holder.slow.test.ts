import { describe, expect, it } from "vitest";
import type { Why } from "#functions/operator/why.ts";
import { callsOf, createForecastBench, type ForecastBench } from "#test/support/forecast-bench.ts";
import { pause } from "#test/support/dialer-calls.ts";
import { tokens } from "#test/support/environment.ts";

const account = "webhook:http://127.0.0.1:9";
const startAt = "2026-06-01T10:00:00.000Z";
const agents = Object.fromEntries(
  ["agent_sales", "agent_support", "agent_care"].map((agent) => [
    agent,
    { provider: "webhook", url: "http://127.0.0.1:9/dial" },
  ]),
);

const waitingIn = (bench: ForecastBench) => bench.operator<Why>("/why");

async function post(bench: ForecastBench, count: number, more: object = {}, headers = {}) {
  expect((await bench.post(callsOf(count, more), tokens.crm, headers)).status).toBe(201);
  await bench.dialer.deliver();
}

describe("GET /operator/why", () => {
  it("says what holds calls today, not why their rows were written, and counts every call", async () => {
    const bench = createForecastBench({ agents }, startAt);
    await post(bench, 700);
    await post(bench, 900, { agent_id: "agent_support" });
    await pause(bench.dialer, { agent: "agent_support" });
    const answer = await waitingIn(bench);
    expect(answer).toMatchObject({ calls: 1600, is_whole: true });
    expect(answer.rows_read).toBeLessThan(1600);
    expect(answer.holders).toEqual([
      { reason: "paused", name: "agent agent_support", calls: 900, is_exact: true },
      { reason: "turn", name: account, calls: 700, is_exact: true },
    ]);
  });

  it("weighs the calls of backlogs by their number, and says that rows stand for others", async () => {
    const bench = createForecastBench({ agents }, startAt);
    await post(bench, 3_000);
    await post(bench, 1_000, {}, { "call-not-before": "2026-06-01T12:00:00Z" });
    await post(
      bench,
      50,
      { agent_id: "agent_care" },
      { "call-not-before": "2026-06-01T11:00:00Z" },
    );
    const answer = await waitingIn(bench);
    expect(answer.calls).toBe(4_050);
    const [turn, later] = answer.holders;
    expect(turn).toMatchObject({ reason: "turn", is_exact: true });
    expect(later).toMatchObject({ reason: "not_before", is_exact: false });
    expect(Math.abs((later?.calls ?? 0) - 1_050)).toBeLessThanOrEqual(10);
  });

  it("names the closed rule of today's plan, full live calls, a day's calls and a lost route", async () => {
    const limited = (more: object) => createForecastBench({ agents, ...more }, startAt);
    const held = async (bench: ForecastBench) => {
      await post(bench, 30);
      return (await waitingIn(bench)).holders.map(({ reason, name }) => [reason, name]);
    };
    const evening = { callingHours: { default: { "mon-sun": ["18:00-20:00"] } } };
    expect(await held(limited(evening))).toEqual([["hours", "callingHours.default"]]);
    const day = limited({ providers: { webhook: { callsPerDay: 5 } } });
    await post(day, 5);
    await day.dialer.simulate(30);
    expect(day.dialer.dialed).toHaveLength(5);
    expect(await held(day)).toEqual([["calls_per_day", account]]);
    const lines = limited({ results: {}, providers: { webhook: { liveCalls: 2 } } });
    await post(lines, 2);
    await lines.dialer.simulate(30);
    expect(await held(lines)).toEqual([["live_calls", account]]);
  });
});
