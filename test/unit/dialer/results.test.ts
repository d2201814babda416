import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextPollAt } from "#functions/dialer/record/due-times.ts";
import { parseRow, toStoredRow } from "#shared/ports/stored-row.ts";
import { aCallNow, boom, callsNow, rowOf, sendEach } from "#test/support/dialer-calls.ts";
import { callerIdOf } from "#shared/policy/result-watch.ts";
import {
  pollAfter,
  pollMinuteAfter,
  busy,
  completed,
  createBench,
  live,
  minuteMs,
  nothing,
  place,
  resultOf,
  twilio,
} from "#test/support/results-bench.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

describe("the result of a placed call", () => {
  it("is asked for after two minutes, and stays once the call has ended", async () => {
    const bench = createBench();
    const call = firstOf(await place(bench, 1));
    const asked: string[] = [];
    bench.record = async ({ providerCallId }) => {
      asked.push(providerCallId);
      return completed;
    };
    await pollAfter(bench, 1);
    expect(asked).toEqual([]);
    await pollAfter(bench, 1);
    expect(asked).toEqual([`CA_${call.id}`]);
    const row = await rowOf(bench, call);
    expect(row).toMatchObject({ state: "PLACED", lane: null, dueAt: null, request: null });
    expect(row.result).toMatchObject({ status: "completed", seconds: 42 });
    expect(bench.eventsOf("call.result")).toMatchObject([
      { result: "completed", call_id: call.id },
    ]);
    bench.record = async () => busy;
    await pollAfter(bench, 10);
    expect(await resultOf(bench, call)).toMatchObject({ status: "completed" });
    expect(bench.dialed).toHaveLength(1);
  });

  it("is not asked for unless the plan says so, and leaves the row unchanged", async () => {
    const bench = createBench(null);
    const call = firstOf(await place(bench, 1));
    const row = await rowOf(bench, call);
    expect(row).toMatchObject({ lane: null, dueAt: null, result: null });
    expect(toStoredRow(row)).not.toHaveProperty("result");
    await bench.sweep();
    expect(bench.eventsQueue.take()).toEqual([]);
  });

  it("of a live call is asked for at 2, 6, 14 and 30 minutes, and is unknown when the time is over", async () => {
    const bench = createBench({ waitMinutes: 40 });
    const call = firstOf(await place(bench, 1));
    const placedAt = (await rowOf(bench, call)).claimedAt ?? 0;
    const asked: number[] = [];
    bench.record = async () => {
      asked.push(Math.floor((bench.now() - placedAt) / minuteMs));
      return live;
    };
    for (let minute = 0; minute < 45; minute++) await pollAfter(bench, 1);
    expect(asked).toEqual([2, 6, 14, 30, 40]);
    expect(await rowOf(bench, call)).toMatchObject({
      result: { status: "unknown" },
      lane: null,
      dueAt: null,
    });
  });

  it("of a call without a record yet is asked for again, and unknown in the end", async () => {
    const bench = createBench({ waitMinutes: 5 });
    const call = firstOf(await place(bench, 1));
    await pollAfter(bench, 2);
    expect(await resultOf(bench, call)).toBeNull();
    await pollAfter(bench, 3);
    expect(await resultOf(bench, call)).toMatchObject({ status: "unknown" });
  });

  it("is not unknown by an answer that took until the time was over", async () => {
    const bench = createBench({ waitMinutes: 60 });
    const call = firstOf(await place(bench, 1));
    bench.record = async () => {
      bench.advance(40 * minuteMs);
      return live;
    };
    await pollAfter(bench, 30);
    expect(await rowOf(bench, call)).toMatchObject({
      result: { status: "live" },
      lane: "results:twilio",
    });
    bench.record = async () => completed;
    await pollAfter(bench, 1);
    expect(await resultOf(bench, call)).toMatchObject({ status: "completed" });
  });

  it("is read from a list where many calls are due, and one by one where the list lacks it", async () => {
    const bench = createBench({}, { providers: { twilio: { callsPerSecond: 100 } } });
    const calls = await place(bench, 12);
    const unmapped = firstOf(calls);
    let lists = 0;
    bench.list = async (from) => {
      lists += 1;
      expect(from).toBeLessThan(bench.now() - 2 * minuteMs);
      return new Map(calls.slice(1).map(({ id }) => [`CA_${id}`, busy]));
    };
    const asked: string[] = [];
    bench.record = async ({ id }) => {
      asked.push(id);
      return completed;
    };
    await pollAfter(bench, 3);
    expect(lists).toBe(1);
    expect(asked).toEqual([unmapped.id]);
    const statuses = await Promise.all(calls.map((call) => resultOf(bench, call)));
    expect(statuses.map((one) => one?.status)).toEqual([
      "completed",
      ...calls.slice(1).map(() => "busy"),
    ]);
  });

  it("is read from one list though the calls came from a pool of numbers, a few from each", async () => {
    const pool = Array.from({ length: 40 }, (_, n) => `+120255501${String(n).padStart(2, "0")}`);
    const agent = { ...twilio.agents.agent_sales, from: { pool, pick: "callee" } };
    const providers = { twilio: { callsPerSecond: 100 } };
    const bench = createBench({}, { agents: { agent_sales: agent }, providers });
    const calls = await place(bench, 60);
    let [lists, asked] = [0, 0];
    bench.list = async () => {
      lists += 1;
      return new Map(calls.map(({ id }) => [`CA_${id}`, completed]));
    };
    bench.record = async () => {
      asked += 1;
      return completed;
    };
    await pollAfter(bench, 3);
    const { rows } = await bench.deps.ledger.read(calls.map(({ id }) => id));
    expect(new Set(rows.map(callerIdOf)).size).toBeGreaterThan(20);
    expect(rows.every(({ result }) => result?.status === "completed")).toBe(true);
    expect([lists, asked]).toEqual([1, 0]);
  });

  it("is asked for one by one if the list cannot be read", async () => {
    const bench = createBench({}, { providers: { twilio: { callsPerSecond: 100 } } });
    const calls = await place(bench, 6);
    bench.list = boom;
    bench.record = async () => busy;
    await pollAfter(bench, 3);
    const results = await Promise.all(calls.map((call) => resultOf(bench, call)));
    expect(results.map((one) => one?.status)).toEqual(calls.map(() => "busy"));
    expect(bench.eventsOf("results.not_listed")).toHaveLength(1);
  });

  it(
    "is asked for no faster than pollsPerSecond, and never past the next sweep",
    inSlowTier,
    async () => {
      const bench = createBench(
        {},
        { providers: { twilio: { callsPerSecond: 100, pollsPerSecond: 0.5 } } },
      );
      await place(bench, 60);
      const times: number[] = [];
      bench.record = async () => {
        times.push(bench.now());
        return live;
      };
      await pollMinuteAfter(bench, 3);
      const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(2000);
      expect(times.length).toBeGreaterThanOrEqual(20);
      expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan(minuteMs);
    },
  );

  it("keeps waiting while its account is in trouble, and the other account's is reported", async () => {
    const agents = {
      agent_sales: { ...twilio.agents.agent_sales },
      agent_support: { ...twilio.agents.agent_sales, provider: "other" },
    };
    const bench = createBench({}, { agents, providers: { other: { type: "twilio" } } });
    const [bad, good] = [aCallNow(bench), aCallNow(bench, { agent_id: "agent_support" })];
    await sendEach(bench, bad, good);
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    bench.record = async ({ id }) => (id === bad.id ? boom() : completed);
    await pollAfter(bench, 2);
    expect(await resultOf(bench, good)).toMatchObject({ status: "completed" });
    expect(await resultOf(bench, bad)).toBeNull();
    bench.record = async () => busy;
    await pollAfter(bench, 5);
    expect(await resultOf(bench, bad)).toMatchObject({ status: "busy" });
  });

  it("is not abandoned by a dialer whose plan does not ask for results", async () => {
    const bench = createBench();
    const call = firstOf(await place(bench, 1));
    bench.advance(2 * minuteMs);
    await bench.sweep();
    bench.changePlan(twilio);
    await bench.deliverEvents();
    expect(await rowOf(bench, call)).toMatchObject({ result: null, lane: "results:twilio" });
    bench.changePlan({ ...twilio, results: {} });
    bench.record = async () => busy;
    await pollAfter(bench, 5);
    expect(await resultOf(bench, call)).toMatchObject({ status: "busy" });
  });

  it("that can never be read delays no other call's, and is no longer asked for a day later", async () => {
    const bench = createBench({ waitMinutes: 5 });
    const [bad, good] = await place(bench, 2);
    if (bad === undefined || good === undefined) throw new Error("they were placed");
    bench.record = async ({ id }) => (id === bad.id ? boom() : busy);
    await pollAfter(bench, 2);
    expect(await resultOf(bench, good)).toMatchObject({ status: "busy" });
    await pollAfter(bench, 60);
    expect(await resultOf(bench, bad)).toBeNull();
    await pollAfter(bench, 24 * 60);
    expect(await resultOf(bench, bad)).toMatchObject({ status: "unknown" });
    expect(await rowOf(bench, bad)).toMatchObject({ lane: null, dueAt: null });
  });

  it("is asked for of three calls at most while the account does not answer", async () => {
    const bench = createBench({}, { providers: { twilio: { callsPerSecond: 100 } } });
    await place(bench, 4);
    let asked = 0;
    bench.record = async () => {
      asked += 1;
      return boom();
    };
    await pollAfter(bench, 2);
    expect(asked).toBe(3);
    expect(bench.eventsOf("results.unreachable")).toHaveLength(1);
  });

  it(
    "is asked for in one list of an account with many routes, and not past the time for asking",
    inSlowTier,
    async () => {
      const { agent_sales } = twilio.agents;
      const plain = Object.fromEntries(
        Array.from({ length: 8 }, (_, n) => [
          `agent_${n}`,
          { ...agent_sales, from: `+1202555010${n}` },
        ]),
      );
      const bench = createBench(
        {},
        { agents: plain, providers: { twilio: { callsPerSecond: 1000, pollsPerSecond: 1 } } },
      );
      const calls = Object.keys(plain).flatMap((agent_id) => callsNow(bench, 5, { agent_id }));
      await sendEach(bench, ...calls);
      await bench.simulate(10, { firstSweepSeconds: 1000 });
      expect(bench.dialed).toHaveLength(40);
      let lists = 0;
      bench.list = async () => {
        lists += 1;
        return new Map(calls.map(({ id }) => [`CA_${id}`, busy]));
      };
      await pollAfter(bench, 3);
      expect(lists).toBe(1);
      expect((await Promise.all(calls.map((call) => resultOf(bench, call)))).every(Boolean)).toBe(
        true,
      );

      const more = Object.keys(plain).flatMap((agent_id) => callsNow(bench, 5, { agent_id }));
      await sendEach(bench, ...more);
      await bench.simulate(10, { firstSweepSeconds: 1000 });
      lists = 0;
      bench.list = async () => {
        lists += 1;
        await bench.sleep(15_000);
        return new Map();
      };
      bench.advance(3 * minuteMs);
      await bench.sweep();
      const begunAt = bench.now();
      await bench.deliverEvents();
      expect(lists).toBeLessThanOrEqual(4);
      expect(bench.now() - begunAt).toBeLessThan(70_000);
    },
  );

  it("is asked for once, however many messages say so, and not for an old one that came before", async () => {
    const bench = createBench();
    await place(bench, 1);
    let asked = 0;
    bench.record = async () => {
      asked += 1;
      return live;
    };
    bench.advance(3 * minuteMs);
    const ask = { kind: "poll", account: "twilio" } as const;
    await bench.eventsQueue.send({ ...ask, sentAt: bench.now() - 61_000, again: 1 });
    expect(await bench.deliverEvents()).toEqual(["ack"]);
    expect(asked).toBe(0);
    for (let n = 0; n < 3; n++) await bench.eventsQueue.send({ ...ask, sentAt: bench.now() });
    expect(await bench.deliverEvents()).toEqual(["ack", "ack", "ack"]);
    expect(asked).toBe(1);
  });

  it("is asked for though the queue lags, as newer messages come as late", async () => {
    const bench = createBench({}, { providers: { twilio: { liveCalls: 9 } } });
    const [call] = await place(bench, 1);
    if (call === undefined) throw new Error("one was placed");
    bench.record = async () => live;
    bench.advance(3 * minuteMs);
    await bench.sweep();
    bench.advance(2 * minuteMs);
    await bench.deliverEvents();
    expect(await resultOf(bench, call)).toMatchObject({ status: "live" });
    bench.record = async () => completed;
    const poll = { kind: "poll", account: "twilio", live: "twilio" } as const;
    for (let n = 0; n < 2; n++) await bench.eventsQueue.send({ ...poll, sentAt: bench.now() });
    bench.advance(2 * minuteMs);
    expect(await bench.deliverEvents()).toEqual(["ack", "ack"]);
    expect(await resultOf(bench, call)).toMatchObject({ status: "completed" });
  });

  it("of an unreadable record counts as none, and the next calls are still asked about", async () => {
    const bench = createBench();
    const [first, second] = await place(bench, 2);
    if (first === undefined || second === undefined) throw new Error("they were placed");
    bench.record = async ({ id }) => {
      if (id === first.id) JSON.parse("{");
      return busy;
    };
    await pollAfter(bench, 2);
    expect(await resultOf(bench, first)).toBeNull();
    expect(await resultOf(bench, second)).toMatchObject({ status: "busy" });
  });
});

describe("the times at which results are asked for", () => {
  it("lie ahead, double, and end when the time for asking is over", () => {
    const minutes = fc.integer({ min: 0, max: 2000 });
    fc.assert(
      fc.property(fc.integer({ min: 5, max: 1440 }), minutes, (waitMinutes, age) => {
        const at = nextPollAt(0, age * minuteMs, waitMinutes) / minuteMs;
        expect(at).toBeLessThanOrEqual(waitMinutes);
        if (age < waitMinutes) expect(at).toBeGreaterThan(age);
        expect(at).toBeLessThanOrEqual(2 * age + 2);
      }),
    );
  });
});

it("keeps a row's result through the ledger, with what a later version added to it", () => {
  const bench = createBench();
  expect(bench.plan.results?.waitMinutes).toBe(240);
  const stored = { state: "PLACED", reason: "placed", client: "c", agentId: "a", numberHash: "h" };
  const times = { numberTail: "23", acceptedAt: 1, updatedAt: 1 };
  const row = parseRow("call_1", "v", {
    ...stored,
    ...times,
    result: { status: "busy", later: 1 },
  });
  expect(row?.result).toEqual({ ...nothing, status: "busy", later: 1 });
});
