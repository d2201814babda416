import { describe, expect, it } from "vitest";
import { retryAfterSeconds } from "#shared/providers/provider-http.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import {
  account,
  backlogOf,
  breakerOf,
  busy,
  createBreakersBench as createBench,
  deliverRows,
  dialEach,
  gapsSince,
  opened,
  own,
  placed,
  probeIn,
  putDue,
  unreachable,
  stateOfBreaker,
  times,
} from "#test/support/breakers-bench.ts";
import { aCallNow, allIn, documentOf, putIn, rowOf, statesOf } from "#test/support/dialer-calls.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const noConnection: DialOutcome = { kind: "not_placed", code: "econnrefused", unreachable: true };

describe("unreachable", () => {
  it.each([
    ["5xx", unreachable],
    ["no connection", noConnection],
  ])(
    "opens the backlog's breaker after five in a row, and no other: %s",
    inSlowTier,
    async (_, outcome) => {
      const bench = createBench();
      await dialEach(bench, times(4, outcome));
      expect(await stateOfBreaker(bench, own)).toBeUndefined();
      await dialEach(bench, times(1, outcome));
      expect(await breakerOf(bench, own)).toMatchObject({ state: "open", cause: "unreachable" });
      expect(await stateOfBreaker(bench, account)).not.toBe("open");
      expect(bench.eventsOf("breaker.opened")).toMatchObject([{ level: "alarm", breaker: own }]);
      await dialEach(bench, [placed], { client: "shop" });
      await dialEach(bench, [placed], { agent_id: "agent_other" });
      expect(bench.dialed).toHaveLength(7);
      // Another call of its own waits for the probe's time.
      const { probeAt = 0 } = (await breakerOf(bench, own)) ?? {};
      await dialEach(bench, [unreachable]);
      expect(bench.dialed.slice(7).map(({ at }) => at)).toEqual([probeAt]);
    },
  );

  it(
    "opens it where half of the last twenty stayed unanswered, though never five in a row",
    inSlowTier,
    async () => {
      const bench = createBench();
      while (opened(bench).length === 0 && bench.dialed.length < 40) {
        await dialEach(bench, [bench.dialed.length % 2 === 0 ? unreachable : placed]);
      }
      expect(opened(bench)).toEqual([own]);
      expect(bench.dialed).toHaveLength(21);
    },
  );

  it("does not open it by one in four, however many", inSlowTier, async () => {
    const bench = createBench();
    for (let n = 0; n < 25; n++) await dialEach(bench, [...times(3, placed), unreachable]);
    expect(bench.dialed).toHaveLength(100);
    expect(opened(bench)).toEqual([]);
  });

  it.each<[string, DialOutcome]>([
    ["a placed call", placed],
    ["a rejection", { kind: "rejected", code: "http_400" }],
    ["429", busy()],
  ])("is reset by an answer: %s", inSlowTier, async (_, answer) => {
    const bench = createBench();
    await dialEach(bench, times(4, unreachable));
    await dialEach(bench, [answer]);
    bench.advance(2_000); // until 429's breaker is probed
    await dialEach(bench, [placed]);
    await dialEach(bench, times(4, unreachable));
    expect(opened(bench)).toEqual([]);
    expect(bench.dialed).toHaveLength(10);
  });

  it(
    "is probed after 5, 10, 15 s, growing to two minutes, and closes by a success",
    inSlowTier,
    async () => {
      const bench = createBench();
      await dialEach(bench, times(5, unreachable));
      bench.answer = async () => unreachable;
      const calls = await putDue(bench, 40);
      const from = bench.now();
      await bench.simulate(620);
      const gaps = gapsSince(bench, from);
      const first = ((bench.dialed[5]?.at ?? 0) - from) / 1000;
      for (const [n, gap] of [first, ...gaps].entries()) {
        const least = [5, 5, 10, 15, 30, 60, 120][n] ?? 120;
        expect(gap).toBeGreaterThanOrEqual(least - 0.5);
        expect(gap).toBeLessThanOrEqual(least + 4); // the next look, and the way to the request
      }
      expect(gaps.length).toBeGreaterThanOrEqual(7);
      bench.answer = async () => placed;
      await bench.simulate(150);
      expect(await stateOfBreaker(bench, own)).toBeUndefined();
      expect(bench.eventsOf("breaker.closed")).toMatchObject([{ breaker: own }]);
      expect(await statesOf(bench, calls)).not.toContain("WAITING");
      expect(bench.dialed).toHaveLength(45);
    },
  );

  it("of a delivery stops the other calls of its backlog there, and no others", async () => {
    const bench = createBench({ concurrency: 1 });
    bench.answer = async ({ client }) => (client === "crm" ? unreachable : placed);
    const calls = await putDue(bench, 5);
    const others = await putDue(bench, 5, { client: "shop" });
    await deliverRows(bench, [...calls, ...others]);
    expect(bench.dialed.filter(({ call }) => call.client === "crm").length).toBeLessThanOrEqual(1);
    expect(await statesOf(bench, others)).toEqual(allIn(others, "PLACED"));
  });

  it("is not counted from lapsed claims", async () => {
    const bench = createBench();
    const calls = Array.from({ length: 20 }, () => aCallNow(bench));
    for (const call of calls) await putIn(bench, "DIALING", call, { at: bench.now() - 60_000 });
    await bench.sweep();
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "UNKNOWN"));
    expect(opened(bench)).toEqual([]);
    expect(await documentOf(bench, "counters", own)).toBeUndefined();
  });

  it("that cannot be counted loses no outcome", async () => {
    const bench = createBench();
    bench.breakDocuments({ add: () => Promise.reject(new Error("unreachable")) });
    bench.answer = async () => unreachable;
    const call = firstOf(await putDue(bench, 1));
    await deliverRows(bench, [call]);
    expect((await rowOf(bench, call)).state).toBe("UNKNOWN");
    expect(bench.eventsOf("breaker.update_failed")).toMatchObject([{ level: "warning" }]);
  });
});

describe("429", () => {
  const inFuture = (seconds: number) =>
    new Date(Date.parse("2026-06-01T10:00Z") + seconds * 1000).toUTCString();

  it.each([
    [null, 1],
    ["30", 30],
    ["900", 900],
    ["901", 900],
    ["2592000", 900], // thirty days
    ["999999999", 900],
    [inFuture(40), 40],
    [inFuture(30 * 86_400), 900],
    [inFuture(-3600), 1],
    ["0", 1],
    ["-5", 1],
    ["1.5", 1],
    ["soon", 1],
  ])(
    "with Retry-After %s opens the backlog's breaker at once, for %i s",
    inSlowTier,
    async (value, seconds) => {
      const bench = createBench();
      const headers = new Headers(value === null ? {} : { "retry-after": value });
      await dialEach(bench, [busy(retryAfterSeconds(headers, bench.now()))]);
      expect(await breakerOf(bench, own)).toMatchObject({ state: "open", cause: "busy" });
      expect(Math.round((await probeIn(bench, own)) / 1000)).toBe(seconds);
      expect(opened(bench)).toEqual([]); // nobody need be woken
      expect(bench.eventsOf("breaker.throttled")).toMatchObject([{ level: "warning" }]);
      const { probeAt = 0 } = (await breakerOf(bench, own)) ?? {};
      await dialEach(bench, [placed]);
      bench.advance(seconds * 1000);
      await dialEach(bench, [placed]);
      expect(bench.dialed[1]?.at).toBeGreaterThanOrEqual(probeAt);
      expect(await stateOfBreaker(bench, own)).toBe("half_open");
    },
  );

  it(
    "is probed after 1, 2, 4, 8 and then each 10 s, and from 1 s on after a success",
    inSlowTier,
    async () => {
      const bench = createBench();
      bench.answer = async () => busy();
      await putDue(bench, 40);
      await bench.simulate(80);
      const gaps = gapsSince(bench, 0);
      for (const [n, gap] of gaps.entries()) {
        const least = [1, 1, 2, 4, 8][n] ?? 10;
        expect(gap).toBeGreaterThanOrEqual(least);
        expect(gap).toBeLessThanOrEqual(least + 2.5); // the next look
      }
      expect(gaps.length).toBeGreaterThanOrEqual(7);
      bench.advance(10_000);
      await dialEach(bench, [placed, busy()]);
      expect(Math.round((await probeIn(bench, own)) / 1000)).toBe(1);
    },
  );

  it("after silence has the breaker probed soon, as nobody was phoned", async () => {
    const bench = createBench();
    await dialEach(bench, times(5, unreachable));
    bench.advance(5_000);
    await dialEach(bench, [unreachable]);
    bench.advance(10_000);
    await dialEach(bench, [busy()]);
    expect(await breakerOf(bench, own)).toMatchObject({ cause: "busy", intervalMs: 1_000 });
  });

  it("has its row wait 1, 2, 4 … 60 s, so that another one is the next at the head", async () => {
    const bench = createBench();
    const call = firstOf(await putDue(bench, 1));
    bench.answer = async () => busy();
    const waits: number[] = [];
    for (let n = 0; n < 9; n++) {
      await deliverRows(bench, [call]);
      const { dueAt, attempt } = await rowOf(bench, call);
      expect(attempt).toBe(n + 1);
      waits.push(((dueAt ?? 0) - bench.now()) / 1000);
      bench.advance(70_000);
    }
    // One random second more each, of which the bench takes the half.
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((wait) => wait + 0.5));
  });

  // The first ones, of a quick look, and of a later look.
  it.each([0, 4, 5, 6, 7, 30])(
    "that one number always gets does not hold the other calls (position %i)",
    inSlowTier,
    async (at) => {
      const bench = createBench();
      // Rows that are due together have their turns in the order of their ids.
      const others = (await putDue(bench, 60)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const [always] = others.splice(at, 1);
      bench.answer = async (call) => (call.id === always?.id ? busy() : placed);
      await bench.simulate(60);
      expect(await statesOf(bench, others)).toEqual(allIn(others, "PLACED"));
      expect(bench.dialed.filter(({ call }) => call.id === always?.id).length).toBeLessThan(10);
    },
  );

  it.each([
    [1, 5],
    [1, 25],
    [3, 25],
    [8, 25],
  ])(
    "by which five lines are busy, for %i s a call, comes less often than calls: %i requests at once",
    inSlowTier,
    async (callSeconds, concurrency) => {
      const bench = createBench({ concurrency });
      let underWay = 0;
      let refusals = 0;
      bench.answer = async () => {
        if (underWay >= 5) {
          refusals += 1;
          return busy();
        }
        underWay += 1;
        void bench.sleep(callSeconds * 1_000).then(() => (underWay -= 1));
        return placed;
      };
      const calls = await putDue(bench, 60, { agent_id: "hook" });
      // Twelve rounds of five calls are the least.
      await bench.simulate(12 * callSeconds + 30);
      expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
      expect(refusals).toBeLessThanOrEqual(50);
    },
  );

  it("about one number delays that number's row alone", inSlowTier, async () => {
    const bench = createBench();
    const outcome: DialOutcome = { kind: "not_placed", code: "same_number", blamesNumber: true };
    await dialEach(bench, times(30, outcome));
    expect(bench.dialed).toHaveLength(30);
    expect(await stateOfBreaker(bench, own)).toBeUndefined();
    const call = firstOf(await putDue(bench, 1));
    bench.answer = async () => ({ ...outcome, retryAfterSeconds: 86_400 });
    await deliverRows(bench, [call]);
    const waits = ((await rowOf(bench, call)).dueAt ?? 0) - bench.now();
    expect(waits).toBe(900_500); // not longer than any other Retry-After
  });
});

describe("a full account", () => {
  const full: DialOutcome = { kind: "not_placed", code: "concurrency_limit", isFull: true };

  it("opens the account's breaker at once, then takes one call, and one more after each success", async () => {
    const bench = createBench();
    await dialEach(bench, [full]);
    expect(await breakerOf(bench, account)).toMatchObject({ state: "open", cause: "full" });
    expect(await stateOfBreaker(bench, own)).toBeUndefined();
    expect(opened(bench)).toEqual([]);
    const { probeAt = 0 } = (await breakerOf(bench, account)) ?? {};
    const rooms: (number | undefined)[] = [];
    for (let n = 0; n < 33; n++) {
      await dialEach(bench, [placed]);
      rooms.push((await breakerOf(bench, account))?.room);
    }
    expect(rooms).toEqual([...Array.from({ length: 32 }, (_, n) => n + 1), undefined]);
    expect(bench.dialed[1]?.at).toBeGreaterThanOrEqual(probeAt);
  });

  it(
    "with as many lines as it has keeps them busy: each time it is full again it starts with one",
    inSlowTier,
    async () => {
      const bench = createBench();
      const limit = 3;
      let underWay = 0;
      let refusals = 0;
      bench.answer = async () => {
        if (underWay >= limit) {
          refusals += 1;
          return full;
        }
        underWay += 1;
        await bench.sleep(1_000);
        underWay -= 1;
        return placed;
      };
      const calls = await putDue(bench, 100);
      await bench.simulate(120);
      expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
      expect(refusals).toBeLessThanOrEqual(20);
    },
  );

  it("of a webhook is the backlog's", async () => {
    const bench = createBench();
    await dialEach(bench, [full], { agent_id: "hook" });
    expect(await breakerOf(bench, backlogOf("crm", "hook"))).toMatchObject({ cause: "full" });
    await dialEach(bench, [placed], { agent_id: "hook", client: "shop" });
    expect(bench.dialed).toHaveLength(2);
  });
});
