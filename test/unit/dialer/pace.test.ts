import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  callsNow,
  iso,
  rowOf,
  rowsIn,
  sendEach,
  sendRequest,
  statesOf,
  stateOf,
  webhook,
} from "#test/support/dialer-calls.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

const startAt = "2026-06-01T10:00Z";
const paced = (callsPerSecond: number, more: object = {}) => ({
  providers: { webhook: { callsPerSecond, ...more } },
});
const createBench = (plan: object) => {
  const bench = createDialerBench({ plan, startAt });
  bench.answer = async () => {
    await bench.sleep(120);
    return { kind: "placed" };
  };
  return bench;
};
const utc = { timezone: "UTC" };
const sendCalls = async (bench: Bench, count: number, fields: Partial<Call["request"]> = {}) => {
  const calls = callsNow(bench, count, { ...utc, ...fields });
  await sendEach(bench, ...calls);
  return calls;
};
const secondsOf = (bench: Bench) => bench.dialed.map(({ at }) => (at - Date.parse(startAt)) / 1000);
/** Claims of the process's one account. */
const claimsOf = (bench: Bench) => [...bench.deps.memory.paced.values()][0];
/** Maximum number of calls in any one second. */
const peak = (times: number[]) =>
  Math.max(...times.map((at) => times.filter((other) => other >= at && other < at + 1).length));

/** Lets the process learn that the account answers, so that it sends more than two requests at once. */
async function warmUp(bench: Bench): Promise<void> {
  await sendCalls(bench, 8);
  await bench.simulate(60);
  expect(bench.dialed).toHaveLength(8);
}

describe("a paced account", () => {
  const long = [
    { rate: 20, answerMs: 1_500, consumers: 20 },
    { rate: 50, answerMs: 1_000, consumers: 20 },
  ];
  it.each(long.slice(0, perTier({ quick: 1, long: 2 })))(
    "is used where its provider takes long: $rate a second, $answerMs ms",
    async (one) => {
      const { rate, answerMs, consumers } = one;
      const bench = createDialerBench({ plan: paced(rate), startAt });
      bench.answer = async () => {
        await bench.sleep(answerMs);
        return { kind: "placed" };
      };
      const seconds = 40;
      await sendRequest(bench, rate * seconds, utc);
      await bench.simulate(seconds, { consumers });
      // Each permit that a call misses, as it waits for a connection, is lost to the pace.
      expect(bench.dialed.length).toBeGreaterThan(0.8 * rate * seconds);
      expect(peak(secondsOf(bench))).toBeLessThanOrEqual(1.1 * rate + 1);
      expect(claimsOf(bench)?.atOnce).toBeGreaterThan(400);
    },
  );

  it("has fewer calls claimed at once by a process that is late for its permits", async () => {
    const bench = createBench(paced(20));
    const { clock } = bench.deps;
    bench.deps.clock = { ...clock, sleep: (ms) => clock.sleep(ms > 0 ? ms + 1_300 : ms) };
    await sendRequest(bench, 40, utc);
    await bench.simulate(20);
    expect(claimsOf(bench)).toMatchObject({ crowdedAt: -Infinity });
    expect(claimsOf(bench)?.atOnce).toBeLessThan(400);
  });

  it("takes 60 calls at 2 a second in half a minute", inSlowTier, async () => {
    const bench = createBench(paced(2));
    await sendCalls(bench, 60);
    await bench.simulate(60);
    expect(bench.dialed).toHaveLength(60);
    expect(Math.max(...secondsOf(bench))).toBeGreaterThanOrEqual(29);
    expect(Math.max(...secondsOf(bench))).toBeLessThanOrEqual(31);
    expect(peak(secondsOf(bench))).toBeLessThanOrEqual(2 + 1);
  });

  it("is sent calls that were posted one by one at the same moment, without waiting for a sweep", async () => {
    const bench = createBench(paced(1));
    bench.answer = async () => {
      await bench.sleep(120);
      return { kind: "placed" };
    };
    await sendEach(bench, ...callsNow(bench, 20));
    await bench.simulate(40, { firstSweepSeconds: 60 });
    expect(bench.dialed).toHaveLength(20);
  });

  it("takes its burst at once after a pause, and no more", async () => {
    const bench = createBench(paced(2, { burst: 5 }));
    await warmUp(bench);
    await sendCalls(bench, 20);
    const from = bench.dialed.length;
    await bench.simulate(75, { batchSize: 20 });
    const times = secondsOf(bench).slice(from);
    expect(times).toHaveLength(20);
    const [first = 0] = times;
    expect(times.filter((at) => at < first + 0.1)).toHaveLength(5);
    expect(peak(times)).toBeLessThanOrEqual(2 + 5);
  });

  it.each([
    [0, 0],
    [0, 3000],
    [500, 1000],
  ])(
    "is kept busy, never too busy, and first come first served (messages %i to %i ms more late)",
    inSlowTier,
    async (alwaysLateMs, lateMs) => {
      const bench = createBench(paced(20));
      let random = 7;
      const late = () => {
        random = (random * 16_807) % 2_147_483_647;
        return alwaysLateMs + (random / 2_147_483_647) * lateMs;
      };
      const options = { lateMs: late, consumers: 6 };
      await sendRequest(bench, 800, utc);
      await bench.simulate(10, options);
      const last = aCallNow(bench, { phone_number: "+13035559999", ...utc });
      await sendEach(bench, last);
      await bench.simulate(250, options);
      expect(new Set(bench.dialed.map(({ call }) => call.id)).size).toBe(801);
      expect(bench.dialed).toHaveLength(801);
      const times = secondsOf(bench);
      expect(peak(times)).toBeLessThanOrEqual(20 * 1.1 + 1);
      expect(Math.max(...times)).toBeLessThanOrEqual((alwaysLateMs + lateMs) / 500 + 5 + 40 / 0.9);
      const its = bench.dialed.find(({ call }) => call.id === last.id)?.at ?? 0;
      const behind = bench.dialed.filter(({ at }) => at > its);
      expect(behind.length).toBeLessThanOrEqual(2 * 20 + (20 * lateMs) / 1000);
    },
  );

  it(
    "is sent 95 % of its rate and more, though the ledger takes 200 ms for everything",
    inSlowTier,
    async () => {
      const bench = createBench(paced(1));
      const slow =
        <Words extends unknown[], Answer>(method: (...words: Words) => Promise<Answer>) =>
        async (...words: Words) => {
          await bench.sleep(200);
          return method(...words);
        };
      const { rows, documents } = bench;
      bench.breakLedger({ read: slow(rows.read), write: slow(rows.write), due: slow(rows.due) });
      bench.breakDocuments({
        read: slow(documents.read),
        write: slow(documents.write),
        takePermits: slow(documents.takePermits),
      });
      await sendRequest(bench, 400, utc);
      await bench.deliver();
      await bench.simulate(310);
      expect(bench.dialed.length).toBeGreaterThanOrEqual(310 * 0.95);
      expect(peak(secondsOf(bench))).toBeLessThanOrEqual(2);
    },
  );

  it(
    "is sent what an idempotent provider may have lost again, whoever waits",
    inSlowTier,
    async () => {
      const agents = { agent_sales: { ...webhook, idempotent: true } };
      const bench = createBench({ ...paced(5), agents });
      const unknown = await sendCalls(bench, 3);
      bench.answer = async () => ({ kind: "unknown", code: "http_500" });
      await bench.deliver();
      bench.answer = async () => ({ kind: "placed" });
      await sendRequest(bench, 1500, utc);
      await bench.simulate(290);
      expect(await statesOf(bench, unknown)).toEqual(["PLACED", "PLACED", "PLACED"]);
    },
  );

  it(
    "keeps to its rate when calls that were dispatched come to it from another account",
    inSlowTier,
    async () => {
      const bench = createBench(paced(2));
      await sendCalls(bench, 200);
      await bench.simulate(20);
      const agents = { agent_sales: { ...webhook, url: "http://127.0.0.1:10/dial" } };
      bench.changePlan({ ...paced(2), agents });
      await sendCalls(bench, 200);
      await bench.simulate(300);
      const second = bench.dialed.filter(
        ({ route }) => "url" in route && route.url.includes(":10/"),
      );
      expect(second.length).toBeGreaterThan(300);
      expect(peak(second.map(({ at }) => at / 1000))).toBeLessThanOrEqual(3);
      expect(bench.dialed).toHaveLength(400);
    },
  );

  it.each([
    [1, 10, 1500, 180],
    [0.05, 2, 400, 36],
  ])(
    "takes up a rate raised from %d to %d a second within 75 seconds",
    inSlowTier,
    async (from, to, count, atLeast) => {
      const bench = createBench(paced(from));
      await sendRequest(bench, count, utc);
      await bench.deliver();
      await bench.simulate(100);
      expect(bench.dialed.length).toBeLessThanOrEqual(100 * from + 2);
      bench.changePlan(paced(to));
      await bench.simulate(75);
      const before = bench.dialed.length;
      await bench.simulate(20);
      expect(bench.dialed.length - before).toBeGreaterThanOrEqual(atLeast);
      expect(peak(secondsOf(bench))).toBeLessThanOrEqual(to + 1);
    },
  );

  it("costs a waiting call a handful of messages, and its rows no write", inSlowTier, async () => {
    const bench = createBench(paced(0.1));
    await sendCalls(bench, 400);
    await bench.simulate(60);
    let writes = 0;
    bench.breakLedger({
      write(changes) {
        writes += changes.length;
        return bench.rows.write(changes);
      },
    });
    const [before, sent] = [bench.dialed.length, bench.sent()];
    await bench.simulate(3600);
    const dialed = bench.dialed.length - before;
    expect(dialed).toBeGreaterThanOrEqual(360 * 0.9);
    expect((bench.sent() - sent) / 400).toBeLessThanOrEqual(3);
    expect(writes / dialed).toBeLessThanOrEqual(2.1);
  });

  it("does not wait for calls whose hours are over before their turn", inSlowTier, async () => {
    const bench = createBench({
      ...paced(1),
      agents: { agent_sales: { ...webhook, callingHours: "early" }, agent_support: webhook },
      callingHours: { default: "always", early: { "mon-sun": ["09:00-10:01"] } },
    });
    const early = await sendCalls(bench, 100);
    bench.advance(1);
    const later = await sendCalls(bench, 20, { agent_id: "agent_support" });
    await bench.simulate(180);
    expect(await statesOf(bench, later)).toEqual(later.map(() => "PLACED"));
    // The provider's time limit is 30 s: calls are decided on up to 35 s before closing, and sent up to 30 s
    // before.
    const closing = Date.parse("2026-06-01T10:00:30Z");
    for (const { call, at } of bench.dialed) {
      if (call.request.agent_id === "agent_sales") expect(at).toBeLessThanOrEqual(closing);
    }
    const rows = await Promise.all(early.map((call) => rowOf(bench, call)));
    const waiting = rows.filter(({ state }) => state === "WAITING");
    expect(waiting.length).toBeGreaterThan(60);
    for (const { reason, dueAt } of waiting) {
      expect([reason, iso(dueAt)]).toEqual(["hours:callingHours.early", "2026-06-02T09:00:02"]);
    }
  });

  it.each([
    ["paces it no longer", {}],
    [
      "sends it elsewhere",
      {
        agents: { agent_sales: { ...webhook, url: "http://127.0.0.1:10/dial" } },
        ...paced(50),
      },
    ],
  ])("has its calls go once the plan %s", inSlowTier, async (_, plan) => {
    const bench = createBench(paced(0.1));
    await sendCalls(bench, 100);
    await bench.simulate(30);
    expect(bench.dialed.length).toBeLessThan(5);
    bench.changePlan(plan);
    await bench.simulate(150);
    expect(bench.dialed).toHaveLength(100);
  });

  it("takes permits anew where a frozen dialer came too late for its own", inSlowTier, async () => {
    const bench = createBench(paced(10));
    let taken = 0;
    bench.breakDocuments({
      async takePermits(key, ...rest) {
        const permitTimes = await bench.documents.takePermits(key, ...rest);
        // The process freezes for four seconds in the middle of a delivery, right after taking permits.
        if (key.kind === "pace" && ++taken === 3) bench.advance(4000);
        return permitTimes;
      },
    });
    await sendCalls(bench, 100);
    await bench.simulate(200);
    expect(new Set(bench.dialed.map(({ call }) => call.id)).size).toBe(100);
    expect(bench.dialed).toHaveLength(100);
    expect(peak(secondsOf(bench))).toBeLessThanOrEqual(10 + 1);
  });

  it(
    "sends a request within 50 ms of its permit's moment, and none by a void one",
    inSlowTier,
    async () => {
      const bench = createBench(paced(10));
      const permitTimes = new Set<number>();
      bench.breakDocuments({
        async takePermits(key, ...rest) {
          const given = await bench.documents.takePermits(key, ...rest);
          if (key.kind === "pace") for (const permitAt of given.times) permitTimes.add(permitAt);
          return given;
        },
      });
      const sleep = bench.deps.clock.sleep;
      let random = 11;
      bench.deps.clock.sleep = async (ms) => {
        await sleep(ms);
        random = (random * 16_807) % 2_147_483_647;
        if (ms > 100 && random % 5 === 0) bench.advance(70); // a process that is slow to wake
      };
      await sendCalls(bench, 60);
      await bench.simulate(120);
      expect(bench.dialed).toHaveLength(60);
      for (const { at } of bench.dialed) {
        expect([...permitTimes].some((permitAt) => at >= permitAt && at <= permitAt + 50)).toBe(
          true,
        );
      }
      expect(permitTimes.size).toBeGreaterThan(60); // some permits were void
    },
  );

  it("has a call whose permits are void three times wait in its place, not counted as tried", async () => {
    const bench = createBench(paced(10));
    let taken = 0;
    bench.breakDocuments({
      async takePermits(key, ...rest) {
        const permitTimes = await bench.documents.takePermits(key, ...rest);
        if (key.kind === "pace" && ++taken <= 3) bench.advance(2500);
        return permitTimes;
      },
    });
    const [call] = await sendCalls(bench, 1);
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(taken).toBe(3);
    expect(await rowsIn(bench, "WAITING")).toMatchObject([{ id: call?.id, reason: "permit_void" }]);
    await bench.simulate(120);
    expect(bench.dialed).toHaveLength(1);
  });

  it("shares one statement between the permits that are asked for at the same moment", async () => {
    const bench = createBench(paced(100, { burst: 20 }));
    bench.deps.concurrency = 25;
    await warmUp(bench);
    const counts: number[] = [];
    bench.breakDocuments({
      takePermits(key, pace, request) {
        if (key.kind === "pace") counts.push(request.count);
        return bench.documents.takePermits(key, pace, request);
      },
    });
    await sendCalls(bench, 20);
    await bench.deliver();
    expect(bench.dialed).toHaveLength(28);
    expect(counts).toEqual([20]);
  });

  it("gives each of the calls that ask at the same moment a moment of its own", async () => {
    const bench = createBench(paced(5));
    bench.deps.concurrency = 25;
    await warmUp(bench);
    const before = bench.dialed.length;
    await sendCalls(bench, 5);
    await bench.deliver();
    const times = bench.dialed.slice(before).map(({ at }) => at);
    expect(times).toHaveLength(5);
    for (const [index, at] of times.entries()) {
      if (index > 0) expect(at - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(199);
    }
  });

  it("does not let a fresh call overtake those that wait", inSlowTier, async () => {
    const bench = createBench(paced(1));
    const calls = await sendRequest(bench, 200, utc);
    await bench.simulate(20);
    const fresh = aCallNow(bench, { phone_number: "+13035559999", ...utc });
    await sendEach(bench, fresh);
    await bench.deliver();
    expect(await rowOf(bench, fresh)).toMatchObject({ state: "WAITING", reason: "turn" });
    await bench.simulate(300);
    const order = bench.dialed.map(({ call }) => call.id);
    expect(order.indexOf(fresh.id)).toBe(200);
    expect(order.slice(0, 200)).toEqual(calls.map(({ id }) => id));
    expect(await stateOf(bench, fresh)).toBe("PLACED");
  });
});
