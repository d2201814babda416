import { describe, expect, it } from "vitest";
import type { Forecast } from "#functions/operator/forecast/forecast-schema.ts";
import type { Requests } from "#functions/operator/requests.ts";
import { dispatcherKey } from "#shared/policy/dispatcher.ts";
import { restoreKey } from "#shared/policy/ledger-epoch.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { callsOf, createForecastBench, forecastNumber } from "#test/support/forecast-bench.ts";
import { aCallNow, neverCall, pause, putDocument, putIn } from "#test/support/dialer-calls.ts";
import { tokens } from "#test/support/environment.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const nine = { callingHours: { default: { "mon-sun": ["09:00-17:00"] } } };
const onePerSecond = { providers: { webhook: { callsPerSecond: 1 } } };
const account = "webhook:http://127.0.0.1:9";
const outcomes = ({ items = [] }: Forecast) => items.map(({ outcome }) => outcome);
const times = ({ items = [] }: Forecast) => items.map(({ at }) => at);

describe("POST /operator/forecast", () => {
  it("stores and queues no call, and records how many it was asked about", async () => {
    const bench = createForecastBench(onePerSecond);
    const answer = await bench.forecast(callsOf(3));
    expect(outcomes(answer)).toEqual(["now", "wait", "wait"]);
    expect(bench.queue.take()).toEqual([]);
    expect(bench.dialer.stored.size).toBe(0);
    const entries = await bench.dialer.documents.list("audit", { limit: 10 });
    expect(entries.map(({ value }) => value)).toMatchObject([{ action: "forecast", count: 3 }]);
  });

  it("says how many later tries may follow with the agents' retry, and nothing about tries without it", async () => {
    const retry = { attempts: 3, within: "24h", after: { busy: "15m" } };
    const agent_sales = { provider: "webhook", url: "http://127.0.0.1:9/dial", retry };
    const bench = createForecastBench({ agents: { agent_sales }, results: {} });
    expect(await bench.forecast(callsOf(2))).toMatchObject({ later_tries: 4 });
    expect(await createForecastBench({}).forecast(callsOf(2))).not.toHaveProperty("later_tries");
  });

  it("has a promised call-back at its time", async () => {
    const bench = createForecastBench(onePerSecond);
    const { dialer } = bench;
    const promisedAt = dialer.now() + 10_000;
    const tries = { number: 2, budget: 2, until: promisedAt + 7_200_000, dialedAt: [], promisedAt };
    const call = aCallNow(dialer, {}, { tries, ancestors: ["call_before"] });
    await putIn(dialer, "WAITING", call, { reason: "call_back", dueAt: promisedAt });
    const { items = [], accounts } = await bench.forecast(callsOf(2));
    expect(items.map(({ at }) => at)).toEqual([
      "2026-06-01T10:00:00.000Z",
      "2026-06-01T10:00:01.000Z",
    ]);
    const last_at = "2026-06-01T10:00:10.000Z";
    expect(accounts).toMatchObject([{ account, waiting: { calls: 1, last_at } }]);
  });

  it("refuses the calls that a batch is refused for, with its pointers", async () => {
    const bench = createForecastBench({});
    const [good] = callsOf(1);
    const calls = [
      good,
      { ...good, agent_id: "nobody" },
      { ...good, phone_number: "12" },
      { ...good, time_zone: "UTC", timezone: "Mars" },
      { ...good, phone_number: "+33123456789" },
      7,
    ];
    const answer = await bench.forecast(calls, { items: "problems" });
    expect(answer.counts).toMatchObject({ refused: 5, now: 1 });
    const first = calls.slice(0, 1);
    for (const [index, call] of calls.entries()) {
      const refusal = await bench.post([...first, call]);
      const { errors = [] }: { errors?: { pointer: string }[] } = JSON.parse(
        (await refusal.text()) || "{}",
      );
      const expected = errors.map((one) => ({
        ...one,
        pointer: one.pointer.replace("/1", `/${index}`),
      }));
      expect(answer.items?.find((item) => item.index === index)?.errors ?? []).toEqual(expected);
    }
    expect(answer.reasons).toContainEqual({
      outcome: "refused",
      reason: "/agent_id is no agent of the dial plan",
      calls: 1,
    });
  });

  it("names the moments of a pace, and the account's limit", async () => {
    const bench = createForecastBench(onePerSecond);
    const answer = await bench.forecast(callsOf(3));
    expect(times(answer)).toEqual([0, 1, 2].map((s) => `2026-06-01T10:00:0${s}.000Z`));
    expect(answer.accounts).toMatchObject([
      { account, calls: 3, limit: "pace", calls_per_second: 1, waiting: { calls: 0 } },
    ]);
    expect(answer.rules).toEqual([
      { limit: "pace", rule: account, calls: 2, seconds: 3, seconds_max: 2 },
    ]);
    expect(answer.hours).toEqual([{ hour: "2026-06-01T10:00:00.000Z", account, calls: 3 }]);
  });

  it("counts with the live calls that an account may have, and how long they last", async () => {
    const lines = { liveCalls: 2, meanCallSeconds: 60 };
    const bench = createForecastBench({ results: {}, providers: { webhook: lines } });
    const answer = await bench.forecast(callsOf(5));
    const at = (minute: number) => `2026-06-01T10:0${minute}:00.000Z`;
    expect(times(answer)).toEqual([at(0), at(0), at(1), at(1), at(2)]);
    expect(answer.rules).toMatchObject([{ limit: "live_calls", rule: account, calls: 3 }]);
  });

  it("counts live calls by the time that is left of them, by their mean duration as seen", async () => {
    const lines = { liveCalls: 2, meanCallSeconds: 60 };
    const bench = createForecastBench({ results: {}, providers: { webhook: lines } });
    const now = bench.dialer.now();
    const entry = { claim: "v" };
    const entries = [
      { ...entry, call: "call_1", at: now - 100_000 },
      { ...entry, call: "call_2", at: now - 300_000 },
    ];
    const value = { entries, meanMs: 120_000 };
    await putDocument(bench.dialer, { kind: "live-calls", key: `0 ${account}` }, value);
    const waits = times(await bench.forecast(callsOf(3))).map((one) => Date.parse(one ?? "") - now);
    expect(waits).toEqual([0, 20_000, 120_000]); // the second one has lasted longer already
  });

  it("lets calls that wait already go first", async () => {
    const bench = createForecastBench({ providers: { webhook: { callsPerSecond: 0.1 } } });
    await bench.post(callsOf(30));
    await bench.dialer.simulate(4);
    const answer = await bench.forecast(callsOf(1));
    expect(answer.accounts[0]?.waiting).toMatchObject({ calls: 29, is_whole: true });
    expect(Date.parse(answer.first_at ?? "") - bench.dialer.now()).toBeGreaterThan(285_000);
    expect(Date.parse(answer.first_at ?? "") - bench.dialer.now()).toBeLessThan(305_000);
  });

  it("lets the first call of a paced message go at once, and the others in turn", async () => {
    const bench = createForecastBench({ providers: { webhook: { callsPerSecond: 0.05 } } });
    const served = { client: "crm", agents: { crm: "agent_sales" } };
    const of = { ...served, completed: [], sent: [], allowance: 1, why: null };
    const value = { holder: null, since: 0, beatAt: 0, accounts: { [account]: of } };
    await putDocument(bench.dialer, dispatcherKey, value);
    const [sales, other] = callsOf(3);
    const calls = [
      sales,
      { ...other, agent_id: "agent_sales" },
      { ...callsOf(3)[2], agent_id: "agent_support" },
    ];
    const named = times(await bench.forecast(calls));
    expect(named).toEqual(
      [0, 40, 20].map((s) => `2026-06-01T10:00:${String(s).padStart(2, "0")}.000Z`),
    );
  });

  it("counts numbers that may ring in many time zones at once", async () => {
    const bench = createForecastBench(nine);
    const [one] = callsOf(1);
    const tollFree = { ...one, phone_number: "+18005550100", timezone: undefined };
    const answer = await bench.forecast([
      one,
      tollFree,
      { ...tollFree, timezone: "America/New_York" },
    ]);
    expect(answer.many_zones?.calls).toBe(1);
    expect(answer.many_zones?.zones).toBeGreaterThan(10);
    expect((await bench.forecast([one])).many_zones).toBeUndefined();
  });

  it("waits for the hours of each zone, and for a number's cap", async () => {
    const bench = createForecastBench({
      ...nine,
      maxCalls: { count: 1, days: 2 },
      destinations: { allow: ["*"] },
    });
    const [one] = callsOf(1);
    const calls = [one, one, { ...one, phone_number: "+81312345678", timezone: "+09:00" }];
    const answer = await bench.forecast(calls);
    expect(times(answer)).toEqual([
      "2026-06-01T10:00:00.000Z",
      "2026-06-03T10:00:00.000Z",
      "2026-06-02T00:00:02.000Z",
    ]);
    expect(answer.items?.map(({ reason }) => reason)).toEqual([
      undefined,
      "max_calls",
      "hours:callingHours.default",
    ]);
    expect(answer.rules.map(({ limit, rule }) => [limit, rule])).toEqual([
      ["max_calls", "maxCalls"],
      ["hours", "callingHours.default"],
    ]);
    expect(answer.accounts[0]?.limit).toBe("max_calls");
  });

  it(
    "compares every number of ten thousand with the do-not-call list and the caps",
    inSlowTier,
    async () => {
      const bench = createForecastBench({ maxCalls: { count: 1, days: 1 } });
      const calls = callsOf(10_000);
      await bench.post(calls.slice(-1));
      await bench.dialer.simulate(10);
      expect(bench.dialer.dialed).toHaveLength(1);
      await neverCall(bench.dialer, forecastNumber(9_998));
      const answer = await bench.forecast(calls);
      expect(answer.counts).toMatchObject({ rejected: 1, wait: 1, now: 9_998 });
      expect(answer).toMatchObject({ unread: 0, unread_from: null });
      expect(answer.items?.slice(-2).map(({ reason }) => reason)).toEqual([
        "do_not_call",
        "max_calls",
      ]);
    },
  );

  it.each(["the time does not suffice", "the ledger fails"])(
    "says which calls it did not compare when %s",
    inSlowTier,
    async (why) => {
      const bench = createForecastBench({});
      await neverCall(bench.dialer, forecastNumber(0));
      const { read } = bench.dialer.documents;
      let batches = 0;
      bench.dialer.documents.read = async (keys) => {
        if (keys.some(({ kind }) => kind === "do-not-call")) batches += 1;
        if (batches > 5 && why === "the ledger fails") throw new Error("down");
        if (batches === 6) bench.dialer.advance(60_000);
        return read(keys);
      };
      const answer = await bench.forecast(callsOf(6_000));
      const readNumbers = why === "the ledger fails" ? 2_500 : 4_000;
      expect(answer.counts).toMatchObject({ rejected: 1, now: 5_999 });
      expect(answer).toMatchObject({ unread: 6_000 - readNumbers, unread_from: readNumbers });
      expect(answer.items?.findIndex(({ is_unread }) => is_unread)).toBe(readNumbers);
    },
  );

  it("blames a client's not-before on it, and the hours after it on their rule", async () => {
    const bench = createForecastBench(nine, "2026-06-01T10:00Z");
    const calls = callsOf(26).map((call) => ({ ...call }));
    const headers = { "call-not-before": "2026-06-01T18:00:00Z" };
    await bench.post(calls, tokens.crm, headers);
    await bench.dialer.deliver();
    const { requests } = await bench.operator<Requests>("/requests");
    expect(requests[0]).toMatchObject({
      expected_end_at: "2026-06-02T09:00:02.000Z",
      blocked_by: [{ reason: "not_before", name: "", calls: 26 }],
    });
  });

  it("says who is never called, who is held, and what finds no place in its lifetime", async () => {
    const plan = { providers: { webhook: { callsPerSecond: 0.02 } }, expireAfterHours: 0.05 };
    const bench = createForecastBench(plan);
    await neverCall(bench.dialer, forecastNumber(0));
    const answer = await bench.forecast(callsOf(6));
    expect(outcomes(answer)).toEqual(["rejected", "now", "wait", "wait", "wait", "expire"]);
    expect(answer.reasons).toEqual([
      { outcome: "rejected", reason: "do_not_call", calls: 1 },
      { outcome: "expire", reason: "pace", calls: 1 },
    ]);
    await pause(bench.dialer, { agent: "agent_sales" });
    expect((await bench.forecast(callsOf(2).slice(1))).items).toEqual([
      { index: 0, outcome: "blocked", account, reason: "paused" },
    ]);
  });

  it("holds everything while the ledger counts as restored", async () => {
    const bench = createForecastBench({});
    await putDocument(bench.dialer, restoreKey, suspendedAt(bench.dialer.now()));
    expect((await bench.forecast(callsOf(2))).counts.blocked).toBe(2);
  });

  it(
    "compares a plan that is not deployed with the one that is, for those that wait too",
    inSlowTier,
    async () => {
      const bench = createForecastBench(onePerSecond);
      await bench.post(callsOf(100));
      await bench.dialer.simulate(1);
      const faster = {
        agents: { agent_sales: { provider: "webhook", url: "http://127.0.0.1:9/dial" } },
        callingHours: { default: "always" },
        destinations: { allow: ["IS"] },
        providers: { webhook: { callsPerSecond: 10 } },
      };
      const { deployed, ...planned } = await bench.forecast(callsOf(100), { plan: faster });
      const seconds = (until: string | null | undefined) =>
        Math.round((Date.parse(until ?? "") - bench.dialer.now()) / 1000);
      expect(seconds(deployed?.accounts[0]?.waiting.last_at)).toBeCloseTo(99, -1);
      expect(seconds(planned.accounts[0]?.waiting.last_at)).toBeCloseTo(10, -1);
      expect([seconds(deployed?.last_at), seconds(planned.last_at)]).toEqual([
        expect.closeTo(199, -1),
        expect.closeTo(20, -1),
      ]);
    },
  );

  it.each([
    ["{", ""],
    [{ client: "crm" }, "/calls"],
    [{ client: "crm", calls: [] }, "/calls"],
    [{ client: "crm", calls: Array.from({ length: 10_001 }, () => 1) }, "/calls"],
    [{ client: "nobody", calls: callsOf(1) }, "/client"],
    [{ client: "crm", calls: callsOf(1), at: "2026-06-01T09:59:59Z" }, "/at"],
    [{ client: "crm", calls: callsOf(1), plan: { agents: {} } }, "/plan/agents"],
    [{ client: "crm", calls: callsOf(1), plan: 7 }, "/plan"],
    [{ client: "crm", calls: callsOf(1), more: 1 }, "/more"],
    [JSON.stringify({ client: "crm", calls: ["x".repeat(5 * 1024 * 1024)] }), ""],
  ])("answers 422 to a request that is wrong as a whole: %#", async (body, pointer) => {
    const bench = createForecastBench({});
    const { status, text } = await bench.ask(body);
    expect(status).toBe(422);
    expect(text).toContain(`"pointer":"${pointer}"`);
  });

  it("applies the agents of the client's tokens", inSlowTier, async () => {
    const bench = createForecastBench({});
    const [call] = callsOf(1);
    const other = { ...call, agent_id: "agent_support" };
    const answer = await bench.forecast([call, other], { client: "salesOnly" });
    expect(outcomes(answer)).toEqual(["now", "refused"]);
    expect((await bench.post([other], tokens.salesOnly)).status).toBe(422);
  });
});
