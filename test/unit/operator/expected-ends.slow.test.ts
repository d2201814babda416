import { describe, expect, it } from "vitest";
import type { Requests, RequestDetail } from "#functions/operator/requests.ts";
import { dispatcherKey } from "#shared/policy/dispatcher.ts";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, testPlan, tokens } from "#test/support/environment.ts";
import { callsOf, createForecastBench, type ForecastBench } from "#test/support/forecast-bench.ts";
import { pause, putDocument } from "#test/support/dialer-calls.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";

const onePerSecond = { providers: { webhook: { callsPerSecond: 1 } } };
const nine = { callingHours: { default: { "mon-sun": ["09:00-17:00"] } } };
const account = "webhook:http://127.0.0.1:9";
const startAt = "2026-06-01T10:00:00.000Z";
const at = (seconds: number) => new Date(Date.parse(startAt) + seconds * 1000).toISOString();

/** Posts calls, has them split into rows, and returns the request's id. */
async function post(bench: ForecastBench, calls: readonly unknown[]): Promise<string> {
  const response = await bench.post(calls);
  expect(response.status).toBe(201);
  await bench.dialer.deliver();
  return response.headers.get("x-request-id") ?? "";
}

const show = (bench: ForecastBench, id: string) => bench.operator<RequestDetail>(`/requests/${id}`);

/** Puts what the dispatcher has seen of the account. */
const seen = (bench: ForecastBench, calls: number, ms: number) =>
  putDocument(bench.dialer, dispatcherKey, {
    holder: null,
    since: 0,
    beatAt: 0,
    accounts: {
      [account]: {
        client: "",
        agents: {},
        completed: [],
        allowance: 0,
        why: "pace",
        sent: [],
        speed: { calls, ms, at: null },
      },
    },
  });

describe("the expected end of a request", () => {
  it("is that of its last waiting call in the forecast's queues, the same in list and detail", async () => {
    const bench = createForecastBench(onePerSecond, startAt);
    const first = await post(bench, callsOf(100));
    const second = await post(bench, callsOf(100, { agent_id: "agent_support" }));
    const ends = [await show(bench, first), await show(bench, second)];
    expect(ends.map(({ expected_end_at }) => expected_end_at)).toEqual([at(198), at(199)]);
    const { requests } = await bench.operator<Requests>("/requests");
    const listed = new Map(requests.map(({ id, expected_end_at }) => [id, expected_end_at]));
    expect([listed.get(first), listed.get(second)]).toEqual([at(198), at(199)]);
    expect(ends[0]?.blocked_by).toEqual([]);
  });

  it("uses the observed speed of an account that is slower than its pace", async () => {
    const bench = createForecastBench({ providers: { webhook: { callsPerSecond: 10 } } }, startAt);
    const id = await post(bench, callsOf(101));
    await seen(bench, 200, 100_000);
    const { expected_end_at } = await show(bench, id);
    expect(expected_end_at).toBe(at(50));
    const forecast = await bench.forecast(callsOf(30));
    expect(forecast.last_at).toBe(at(65));
    expect(forecast.accounts[0]).toMatchObject({
      calls_per_second: 10,
      seen_calls_per_second: 2,
      limit: "slow",
      waiting: { last_at: at(50) },
    });
  });

  it("goes by the pace where the account keeps it", async () => {
    const bench = createForecastBench({ providers: { webhook: { callsPerSecond: 10 } } }, startAt);
    const id = await post(bench, callsOf(101));
    await seen(bench, 970, 100_000);
    expect((await show(bench, id)).expected_end_at).toBe(at(10));
  });

  it("is unknown where a person has paused the agent, and the pause is named with its calls", async () => {
    const bench = createForecastBench(onePerSecond, startAt);
    const id = await post(bench, [...callsOf(30), ...callsOf(40, { agent_id: "agent_support" })]);
    await pause(bench.dialer, { agent: "agent_support" });
    const { expected_end_at, blocked_by } = await show(bench, id);
    expect(expected_end_at).toBeNull();
    expect(blocked_by).toEqual([{ reason: "paused", name: "agent agent_support", calls: 40 }]);
  });

  it("waits for the end of a client's pause that ends by itself", async () => {
    const bench = createForecastBench(onePerSecond, startAt);
    const id = await post(bench, callsOf(30));
    const until = Date.parse(at(600));
    const of = { client: "crm" };
    const value = { of, at: bench.dialer.now(), by: "ops", until };
    await putDocument(bench.dialer, pauseKeyOf(of), value, until);
    const { expected_end_at, blocked_by } = await show(bench, id);
    expect(expected_end_at).toBe(at(629));
    expect(blocked_by).toEqual([{ reason: "paused", name: "client crm", calls: 30 }]);
  });

  it("waits for an opening and names the rule that is closed", async () => {
    const night = "2026-06-01T20:00:00.000Z";
    const bench = createForecastBench({ ...nine, ...onePerSecond }, night);
    const id = await post(bench, callsOf(30));
    const { expected_end_at, blocked_by } = await show(bench, id);
    expect(expected_end_at).toBe("2026-06-02T09:00:31.000Z");
    expect(blocked_by).toEqual([{ reason: "hours", name: "callingHours.default", calls: 30 }]);
  });

  it("waits for the due time and for a pause with calls that today's plan rejects", async () => {
    const bench = createForecastBench({ ...nine, ...onePerSecond }, "2026-06-01T20:00:00.000Z");
    const id = await post(bench, callsOf(1));
    const plan = { ...testPlan, ...nine, ...onePerSecond, destinations: { allow: ["GB"] } };
    const { rows: ledger, documents, now } = bench.dialer;
    const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(plan) };
    const { app } = createTestApi({ environment, ledger, documents, now });
    const readEnd = async () => {
      const headers = { authorization: `Bearer ${tokens.operator}` };
      const response = await app.request(`/operator/requests/${id}`, { headers });
      const view: RequestDetail = JSON.parse(await response.text());
      return view.expected_end_at;
    };
    expect(await readEnd()).toMatch(/^2026-06-02T09:00/);
    await pause(bench.dialer, { agent: "agent_sales" });
    bench.dialer.advance(5_000);
    expect(await readEnd()).toBeNull();
  });

  it("is unknown while a breaker is open, which is named", async () => {
    const bench = createForecastBench(onePerSecond, startAt);
    const id = await post(bench, callsOf(30));
    const key = `account:${account}`;
    const value = { cause: "busy", code: "http_429", openedAt: 0, intervalMs: 1 } as const;
    const more = { probeAt: Date.parse(at(60)), room: 1, blamed: [] };
    const put = (state: "open" | "half_open") =>
      putDocument(bench.dialer, { kind: "breaker", key }, { ...value, ...more, state });
    await put("open");
    const { expected_end_at, blocked_by } = await show(bench, id);
    expect(expected_end_at).toBeNull();
    expect(blocked_by).toEqual([{ reason: "breaker_open", name: key, calls: 30 }]);
    bench.dialer.advance(5_000);
    await put("half_open");
    expect((await show(bench, id)).expected_end_at).toBe(at(34)); // it answers quickly
  });

  it("counts from the next start of a dispatcher where none runs", async () => {
    const bench = createForecastBench(onePerSecond, startAt);
    const id = await post(bench, callsOf(30));
    await putDocument(bench.dialer, dispatcherKey, {
      holder: null,
      since: 0,
      beatAt: 0,
      accounts: {},
    });
    bench.dialer.advance(10_000);
    expect((await show(bench, id)).expected_end_at).toBe(at(60 + 29));
  });

  it("is unknown while a slow account was not seen for long enough", async () => {
    const bench = createForecastBench(onePerSecond, startAt);
    const id = await post(bench, callsOf(30));
    const name = { kind: "account", key: account } as const;
    await putDocument(bench.dialer, name, { quick: false, busy: true });
    const { expected_end_at, blocked_by } = await show(bench, id);
    expect(expected_end_at).toBeNull();
    expect(blocked_by).toEqual([{ reason: "not_measured", name: account, calls: 30 }]);
    bench.dialer.advance(5_000);
    await seen(bench, 30, 60_000);
    expect((await show(bench, id)).expected_end_at).toBe(at(60 + 29 * 2));
  });

  it("counts the days of an account with callsPerDay", async () => {
    const bench = createForecastBench({ providers: { webhook: { callsPerDay: 20 } } }, startAt);
    const id = await post(bench, callsOf(50));
    const { expected_end_at } = await show(bench, id);
    expect(expected_end_at).toBe("2026-06-03T00:00:00.000Z");
  });

  it("says that it could not be read, and the rest of the view is shown", async () => {
    const bench = createForecastBench(onePerSecond, startAt);
    const id = await post(bench, callsOf(30));
    const { due } = bench.dialer.rows;
    bench.dialer.rows.due = () => Promise.reject(new Error("down"));
    const view = await show(bench, id);
    bench.dialer.rows.due = due;
    expect(view).toMatchObject({ expected_end_at: null, by_state: { WAITING: 30 } });
    expect(view.blocked_by).toEqual([{ reason: "not_read", name: "", calls: 0 }]);
  });

  it("says so too where only a later version can read a document", async () => {
    const bench = createForecastBench(onePerSecond, startAt);
    const id = await post(bench, callsOf(30));
    const name = { kind: "breaker", key: `account:${account}` } as const;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a later version's value
    await putDocument(bench.dialer, name, { state: "later" } as never);
    const view = await show(bench, id);
    expect(view).toMatchObject({ expected_end_at: null, by_state: { WAITING: 30 } });
    expect(view.blocked_by).toEqual([{ reason: "not_read", name: "", calls: 0 }]);
  });

  it("is read once for those who ask at the same time, and again after five seconds", async () => {
    const bench = createForecastBench(onePerSecond, startAt);
    const id = await post(bench, callsOf(30));
    let reads = 0;
    const { due } = bench.dialer.rows;
    bench.dialer.rows.due = (query) => {
      reads += 1;
      return due(query);
    };
    await Promise.all([show(bench, id), show(bench, id), bench.operator("/requests")]);
    expect(reads).toBe(1);
    bench.dialer.advance(5_000);
    await show(bench, id);
    expect(reads).toBe(2);
  });
});
