import { describe, expect, it } from "vitest";
import type { DialOutcome } from "../../../shared/providers/dialing-provider.ts";
import { createDialerBench } from "../../support/dialer.ts";
import {
  aCallNow,
  allIn,
  type Bench,
  boom,
  callsNow,
  documentOf,
  due,
  idsDialed,
  numberOf,
  putDocument,
  putIn,
  rowOf,
  rowsIn,
  sendEach,
  stateOf,
  statesOf,
  unknown,
  webhook,
} from "../../support/dialer-calls.ts";

const account = "account:webhook:http://127.0.0.1:9";
const refused: DialOutcome = { kind: "account_refused", code: "http_401" };
const placed: DialOutcome = { kind: "placed" };
const breakerOf = async (bench: Bench, name = account) =>
  (await documentOf(bench, "breaker", name))?.value;
const opened = (bench: Bench) => bench.eventsOf("breaker.opened").map(({ breaker }) => breaker);
/** Returns the times at which calls were dialed, in seconds since `from`. */
const secondsSince = (bench: Bench, from: number) =>
  bench.dialed.filter(({ at }) => at >= from).map(({ at }) => (at - from) / 1000);

/** Opens a breaker, like the dialer does. */
const open = (bench: Bench, name: string, more: { probeAt?: number; intervalMs?: number } = {}) =>
  putDocument(
    bench,
    { kind: "breaker", key: name },
    {
      state: "open",
      code: "http_401",
      openedAt: bench.now(),
      probeAt: bench.now() + 60_000,
      intervalMs: 60_000,
      closedAt: 0,
      ...more,
    },
  );

describe("the breaker of an account", () => {
  it("opens by one refusal, keeps its calls waiting, probes with one, and closes by a success", async () => {
    const bench = createDialerBench();
    let isBroken = true;
    bench.answer = async () => (isBroken ? refused : placed);
    const calls = callsNow(bench, 20);
    await sendEach(bench, ...calls);
    await bench.simulate(30);
    expect(opened(bench)).toEqual([account]);
    expect(bench.eventsOf("breaker.opened")).toMatchObject([{ level: "alarm", code: "http_401" }]);
    const first = bench.dialed.length;
    expect(first).toBeLessThanOrEqual(4); // the requests under way when the first answer came
    const from = bench.now();
    await bench.simulate(1800);
    const probes = secondsSince(bench, from);
    expect(probes.length).toBeGreaterThanOrEqual(3);
    expect(probes.length).toBeLessThanOrEqual(6);
    // The intervals grow from 60 s to 15 min.
    const gaps = probes.slice(1).map((at, n) => at - (probes[n] ?? 0));
    expect(gaps).toEqual(gaps.toSorted((a, b) => a - b));
    isBroken = false;
    await bench.simulate(1200);
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
    expect(await breakerOf(bench)).toMatchObject({ state: "closed" });
    expect(bench.eventsOf("breaker.closed")).toHaveLength(1);
  });

  it("waits a minute for its first probe, however many calls were under way", async () => {
    const bench = createDialerBench();
    bench.answer = async () => refused;
    await sendEach(bench, ...callsNow(bench, 20));
    await bench.deliver();
    const { probeAt = 0 } = (await breakerOf(bench)) ?? {};
    expect(probeAt - bench.now()).toBeGreaterThan(59_700);
    expect(probeAt - bench.now()).toBeLessThanOrEqual(60_000);
    expect(bench.eventsOf("breaker.opened")).toHaveLength(1);
  });

  it("leaves the calls to other hosts alone", async () => {
    const url = "http://127.0.0.2:9/dial";
    const bench = createDialerBench({
      plan: { agents: { agent_sales: { provider: "webhook", url }, agent_support: webhook } },
    });
    bench.answer = async (_, route) => ("url" in route && route.url === url ? refused : placed);
    const others = callsNow(bench, 30, { agent_id: "agent_support" });
    await sendEach(bench, ...callsNow(bench, 3), ...others);
    await bench.simulate(120);
    expect(await statesOf(bench, others)).toEqual(allIn(others, "PLACED"));
  });

  it("probes with another call each time, so that one bad call does not hold the rest", async () => {
    const bench = createDialerBench();
    const bad = aCallNow(bench);
    bench.answer = async ({ id }) => (id === bad.id ? refused : placed);
    await sendEach(bench, bad);
    await bench.deliver();
    const calls = callsNow(bench, 20);
    await sendEach(bench, ...calls);
    await bench.simulate(600);
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
  });

  it("admits one probe, however many ask for it at once", async () => {
    const bench = createDialerBench();
    bench.answer = async () => refused;
    const calls = callsNow(bench, 10);
    const since = bench.now() - 60_000;
    for (const call of calls) await putIn(bench, "WAITING", call, { dueAt: since });
    const before = await Promise.all(calls.map((call) => rowOf(bench, call)));
    await open(bench, account, { probeAt: bench.now() });
    await bench.send(due(...calls.slice(0, 5)));
    const first = bench.deliver();
    await bench.send(due(...calls.slice(5)));
    await Promise.all([first, bench.deliver()]);
    expect(bench.dialed).toHaveLength(1);
    const dialedAt = bench.dialed[0]?.at;
    // A call that lost the probe waits on in its place. The one that won it and failed goes behind the
    // others.
    for (const row of before) {
      const { state, dueAt } = await rowOf(bench, row);
      expect(state).toBe("WAITING");
      const isProbe = row.id === bench.dialed[0]?.call.id;
      expect(dueAt).toBe(isProbe ? dialedAt : row.dueAt);
    }
    expect(await breakerOf(bench)).toMatchObject({
      state: "open",
      probeAt: (dialedAt ?? 0) + 60_000,
      intervalMs: 120_000,
    });
  });

  it("puts a probe that failed behind the others of its backlog", async () => {
    const bench = createDialerBench();
    bench.answer = async () => refused;
    const dueAt = bench.now() - 60_000;
    const calls = callsNow(bench, 3);
    for (const call of calls) await putIn(bench, "WAITING", call, { dueAt });
    await open(bench, account, { probeAt: bench.now() });
    await bench.simulate(60 + 120 + 30);
    expect(new Set(idsDialed(bench)).size).toBe(3);
    expect(bench.dialed).toHaveLength(3);
  });

  it("gets a probe back that sent nothing", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    const probeAt = bench.now();
    await open(bench, account, { probeAt });
    bench.breakDocuments({
      async write(changes) {
        const written = await bench.documents.write(changes);
        // The process freezes as soon as the probe is taken.
        if (changes[0]?.next.kind === "breaker" && bench.now() === probeAt) bench.advance(10_001);
        return written;
      },
    });
    await bench.send(due(call));
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ reason: "claim_too_old", dueAt: probeAt });
    expect(await breakerOf(bench)).toMatchObject({ probeAt, intervalMs: 60_000 });
  });

  it("gets its probe back when another call won another breaker's probe", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    const probeAt = bench.now();
    await open(bench, account, { probeAt });
    await open(bench, "agent:agent_sales", { probeAt });
    bench.breakDocuments({
      write: async (changes) =>
        changes[0]?.next.key === "agent:agent_sales" ? [false] : bench.documents.write(changes),
    });
    await bench.send(due(call));
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", dueAt: probeAt });
    expect(await breakerOf(bench)).toMatchObject({ probeAt, intervalMs: 60_000 });
  });

  it("that cannot be read or written costs no outcome", async () => {
    const bench = createDialerBench();
    bench.answer = async () => refused;
    const call = aCallNow(bench);
    bench.breakDocuments({
      write: (changes) =>
        changes.some(({ next }) => next.kind === "breaker")
          ? boom()
          : bench.documents.write(changes),
    });
    await sendEach(bench, call);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "http_401" });
    expect(bench.eventsOf("breaker.not_kept")).toMatchObject([{ level: "warning" }]);
  });
});

describe("an outage of an account", () => {
  it("opens its breaker after five unanswered requests in a row, probed after 15 s", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    bench.answer = async () => unknown;
    const calls = callsNow(bench, 40);
    for (const call of calls) {
      await sendEach(bench, call);
      await bench.deliver();
    }
    expect(bench.dialed).toHaveLength(5);
    expect(opened(bench)).toEqual([account]);
    const dialedAt = bench.dialed.at(-1)?.at ?? 0;
    expect(await breakerOf(bench)).toMatchObject({
      code: "time_out",
      probeAt: dialedAt + 15_000,
      intervalMs: 15_000,
    });
    expect(await rowsIn(bench, "WAITING")).toHaveLength(35);
    const from = bench.now();
    await bench.simulate(900);
    const probes = secondsSince(bench, from);
    const gaps = probes.slice(1).map((at, n) => at - (probes[n] ?? 0));
    expect(probes.length).toBeGreaterThanOrEqual(6);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(125); // the intervals grow from 15 s to 2 min
    bench.answer = async () => placed;
    await bench.simulate(300);
    expect(await breakerOf(bench)).toMatchObject({ state: "closed" });
    expect(await rowsIn(bench, "WAITING")).toEqual([]);
  });

  it.each<[string, number, DialOutcome]>([
    ["429", 30, { kind: "not_placed", code: "http_429" }],
    ["429 and Retry-After", 65, { kind: "not_placed", code: "http_429", retryAfterSeconds: 60 }],
    ["no connection", 30, { kind: "not_placed", code: "econnrefused", unanswered: true }],
  ])(
    "is probed as soon as at first while probes surely phone nobody: %s",
    async (_, gap, outcome) => {
      const bench = createDialerBench();
      bench.answer = async () => unknown;
      await sendEach(bench, ...callsNow(bench, 60));
      await bench.simulate(600);
      expect(await breakerOf(bench)).toMatchObject({ state: "open", intervalMs: 120_000 });
      bench.answer = async () => outcome;
      await bench.simulate(150);
      const from = bench.now();
      await bench.simulate(600);
      const probes = secondsSince(bench, from);
      const gaps = probes.slice(1).map((at, n) => at - (probes[n] ?? 0));
      expect(probes.length).toBeGreaterThanOrEqual(8);
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(15);
      expect(Math.max(...gaps)).toBeLessThanOrEqual(gap);
      bench.answer = async () => placed;
      await bench.simulate(gap + 5);
      expect(await breakerOf(bench)).toMatchObject({ state: "closed" });
    },
  );

  it("opens it where half of the last twenty stayed unanswered, though never five in a row", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    bench.answer = async () => (bench.dialed.length % 2 === 1 ? unknown : placed);
    for (const call of callsNow(bench, 30)) {
      await sendEach(bench, call);
      await bench.deliver();
    }
    expect(opened(bench)).toEqual([account]);
    expect(bench.dialed.length).toBeGreaterThanOrEqual(19);
    expect(bench.dialed.length).toBeLessThanOrEqual(21);
  });

  it("does not open it by one unanswered request in four, however many", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    bench.answer = async () => (bench.dialed.length % 4 === 0 ? unknown : placed);
    for (const call of callsNow(bench, 100)) {
      await sendEach(bench, call);
      await bench.deliver();
    }
    expect(bench.dialed).toHaveLength(100);
    expect(opened(bench)).toEqual([]);
  });

  it("counts a provider that could not be reached, and an answer of 429 as an answer", async () => {
    for (const [unanswered, count] of [
      [true, 1],
      [false, 0],
    ] as const) {
      const bench = createDialerBench({ concurrency: 1 });
      const code = unanswered ? "econnrefused" : "http_429";
      bench.answer = async () => ({
        kind: "not_placed",
        code,
        unanswered,
        retryAfterSeconds: 3600,
      });
      for (const call of callsNow(bench, 10)) {
        await sendEach(bench, call);
        await bench.deliver();
      }
      expect(opened(bench)).toHaveLength(count);
    }
  });

  it("is not counted from lapsed claims", async () => {
    const bench = createDialerBench();
    const calls = callsNow(bench, 20);
    for (const call of calls) await putIn(bench, "DIALING", call, { at: bench.now() - 60_000 });
    await bench.sweep();
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "UNKNOWN"));
    expect(opened(bench)).toEqual([]);
    expect(await documentOf(bench, "failures", account)).toBeUndefined();
  });

  it("costs about twice the requests under way: two at once until an answer comes", async () => {
    const bench = createDialerBench({ concurrency: 25 });
    let underWay = 0;
    let peak = 0;
    bench.answer = async () => {
      peak = Math.max(peak, ++underWay);
      await bench.sleep(30_000);
      underWay -= 1;
      return unknown;
    };
    const calls = callsNow(bench, 100);
    await sendEach(bench, ...calls);
    await bench.simulate(300, { consumers: 1, batchSize: 25 });
    expect(peak).toBe(2);
    expect(opened(bench)).toEqual([account]);
    expect(bench.dialed.length).toBeLessThanOrEqual(12);
    bench.answer = async () => placed;
    await bench.simulate(600);
    expect(await rowsIn(bench, "WAITING")).toEqual([]);
    expect(bench.dialed).toHaveLength(100);
  });
});

describe("an open breaker of an account with a pace", () => {
  const startAt = "2026-06-01T10:00Z";

  it("lets its backlog go on from the same row once it has closed", async () => {
    const providers = { webhook: { callsPerSecond: 1 } };
    const bench = createDialerBench({ plan: { providers }, startAt });
    let isBroken = true;
    bench.answer = async () => (isBroken ? refused : placed);
    const calls = callsNow(bench, 300);
    await sendEach(bench, ...calls);
    await bench.simulate(30);
    expect(bench.dialed.length).toBeLessThanOrEqual(6); // a breaker may be read 5 s before it opens
    const messages = bench.sent();
    await bench.simulate(30);
    expect(bench.sent() - messages).toBeLessThan(50);
    isBroken = false;
    await bench.simulate(600);
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
    const times = bench.dialed.map(({ at }) => at);
    const most = Math.max(
      ...times.map((at) => times.filter((one) => one >= at && one < at + 1000).length),
    );
    expect(most).toBeLessThanOrEqual(2);
  });

  it("is probed past calls at the head of its backlog that may not be dialed", async () => {
    const bench = createDialerBench({
      plan: {
        providers: { webhook: { callsPerSecond: 1 } },
        agents: { agent_sales: { ...webhook, callingHours: "early" }, agent_support: webhook },
        callingHours: { default: "always", early: { "mon-sun": ["09:00-10:01"] } },
      },
      startAt,
    });
    let isBroken = true;
    bench.answer = async () => (isBroken ? refused : placed);
    await sendEach(bench, aCallNow(bench, { agent_id: "agent_support" }));
    await bench.deliver();
    await sendEach(bench, ...callsNow(bench, 250, { timezone: "UTC" }));
    const last = aCallNow(bench, { agent_id: "agent_support", phone_number: numberOf(999) });
    await sendEach(bench, last);
    await bench.simulate(40); // the probe comes after a minute, when the others' hours have ended
    isBroken = false;
    await bench.simulate(260);
    expect(await stateOf(bench, last)).toBe("PLACED");
  });
});
