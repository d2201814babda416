import { expect, it } from "vitest";
import type { Results } from "#functions/operator/results.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { callStates } from "#shared/calls/states.ts";
import { addUsage } from "#shared/policy/usage.ts";
import { createTestApi } from "#test/support/api.ts";
import { dayPlan, fillWithADay } from "#test/support/believable-day.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { expectDeclared } from "#test/support/operator-answers.ts";

const now = Date.UTC(2026, 10, 21, 12, 34);
const hourMs = 3_600_000;
const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };

function createBench() {
  const api = createTestApi({ environment, now: () => now });
  async function ask(query: string): Promise<Results> {
    const headers = { authorization: `Bearer ${tokens.operator}` };
    const response = await api.app.request(`/operator/results?${query}`, { headers });
    const text = await response.text();
    expectDeclared("get", "/results", { status: response.status, text });
    expect([text, response.status]).toEqual([text, 200]);
    const body: Results = JSON.parse(text);
    return body;
  }
  async function rows(): Promise<CallRow[]> {
    const pages = await Promise.all(
      callStates.map((state) => api.ledger.list({ state, limit: 5000 })),
    );
    return pages.flatMap((page) => page.rows);
  }
  return { ...api, ask, rows };
}

it("are the day's, and sum up alike by agent, client and hour", async () => {
  const { ask, rows, ledger, documents } = createBench();
  await fillWithADay(ledger, documents, now);
  const all = await rows();
  const count = (holds: (row: CallRow) => boolean) => all.filter(holds).length;
  const completed = count(({ result }) => result?.status === "completed");
  const results = count(({ result }) => result !== null);
  const byAgent = await ask("by=agent");
  expect(byAgent.total).toMatchObject({
    accepted: all.length,
    placed: count(({ state }) => state === "PLACED"),
    rejected: count(({ state }) => state === "REJECTED"),
    cancelled: 8,
    by_person: completed,
    answer_rate: completed / results,
    mean_seconds: 71,
    seconds: 71 * completed,
  });
  expect(byAgent.total.results.completed).toBe(completed);
  expect(byAgent.total.results.declined).toBe(count(({ result }) => result?.status === "declined"));
  for (const by of ["agent", "client", "campaign", "hour"]) {
    const { rows: parts, total } = await ask(`by=${by}`);
    expect([by, total]).toEqual([by, byAgent.total]);
    for (const name of ["accepted", "placed", "seconds"] as const)
      expect([by, parts.reduce((sum, one) => sum + one[name], 0)]).toEqual([by, total[name]]);
  }
  const ofSales = await ask("agent_id=agent_sales&client=shop&by=client");
  expect(ofSales.rows).toEqual([expect.objectContaining({ client: "shop", placed: 574 })]);
  const over = count(({ state }) => ["PLACED", "REJECTED", "CANCELLED"].includes(state));
  expect(byAgent.ends.reduce((sum, one) => sum + one.count, 0)).toBe(over);
});

it("have ends by five minutes within three hours, by the hour else, none before or after", async () => {
  const { ask, documents } = createBench();
  const hour = { retentionMs: 99 * hourMs, known: new Map(), agents: { a: {} } };
  for (const minutes of [-150, -90, -14, -13, -1]) {
    const at = now + minutes * 60_000;
    const slot = Math.floor((at % hourMs) / 300_000);
    const counters = { completed: 1, [`@${slot} completed`]: 1 };
    await addUsage([{ of: { client: "crm", agentId: "a" }, counters }], { at, ...hour }, documents);
  }
  const fromIso = (hours: number) => new Date(now - hours * hourMs).toISOString();
  const short = await ask(`from=${fromIso(2)}`);
  expect([short.from, short.minutes]).toEqual(["2026-11-21T10:00:00.000Z", 5]);
  expect(short.ends.map(({ at, count }) => `${at.slice(11, 16)} ${count}`)).toEqual([
    "10:00 1",
    "11:00 1",
    "12:20 2",
    "12:30 1",
  ]);
  const long = await ask(`from=${fromIso(9)}`);
  expect(long.ends.map(({ at, count }) => `${at.slice(11, 16)} ${count}`)).toEqual([
    "10:00 1",
    "11:00 1",
    "12:00 3",
  ]);
});

it("count a call once, by the result that replaced an earlier one, also in another hour", async () => {
  const { ask, documents } = createBench();
  const hour = { retentionMs: 99 * hourMs, known: new Map(), agents: { a: {} } };
  for (const [hours, counters] of [
    [3, { "@0 unknown": 2, "@1 unknown": 1 }],
    [1, { "@0 unknown": -2, "@0 completed": 2 }],
  ] as const) {
    const at = now - hours * hourMs;
    await addUsage([{ of: { client: "crm", agentId: "a" }, counters }], { at, ...hour }, documents);
  }
  const { ends } = await ask("");
  expect(ends.map(({ at, outcome, count }) => `${at.slice(11, 16)} ${outcome} ${count}`)).toEqual([
    "09:00 unknown 1",
    "11:00 completed 2",
  ]);
  const { ends: late } = await ask(`from=${new Date(now - hourMs).toISOString()}`);
  expect(late.map(({ outcome, count }) => [outcome, count])).toEqual([["completed", 2]]);
});

it("are of 31 days at most, and never negative", async () => {
  const { app, ask, documents } = createBench();
  const headers = { authorization: `Bearer ${tokens.operator}` };
  const refused = await app.request("/operator/results?from=2026-10-01T00:00:00Z", { headers });
  expect(refused.status).toBe(422);
  expect(await refused.text()).toContain("31 days");
  const hour = { at: now, retentionMs: hourMs, known: new Map(), agents: { a: {} } };
  const counters = { unknown: -1, completed: 1 };
  await addUsage([{ of: { client: "crm", agentId: "a" }, counters }], hour, documents);
  const { total } = await ask("");
  expect([total.results.unknown, total.results.completed]).toEqual([0, 1]);
});
