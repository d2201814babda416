import { toAccountName } from "#shared/calls/ids.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallResult } from "#shared/calls/call-result.ts";
import type { Route } from "#shared/calls/call-request.ts";
import { addPoolResults } from "#shared/policy/result-watch.ts";
import { readDialPlan } from "#test/support/plans.ts";
import { dayMs, minuteMs } from "#shared/lib/units.ts";
import { callerIdOf } from "#shared/policy/result-watch.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";
import {
  aCallNow,
  type Bench,
  callsNow,
  documentOf,
  numberOf,
  rowOf,
  rowsIn,
  sendEach,
  unknown,
} from "#test/support/dialer-calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { nothing } from "#test/support/results-bench.ts";
import { testPlan } from "#test/support/environment.ts";
import { perTier, inSlowTier } from "#test/support/per-tier.ts";
import { callerIdsKeyOf, isPoolResting, withCallerId } from "#shared/rules/caller-ids.ts";

const pool = ["+12125550190", "+13035550190", "+442079460190"] as const;
const route = (callerIds: readonly string[], more: object = {}): Route => ({
  provider: "twilio",
  account: toAccountName("twilio"),
  callerIds,
  ...more,
});
type Numbers = Record<string, { blocked: number; restsUntil: number; since: number }>;
const documentsOf = (numbers: Numbers) => {
  const json = JSON.stringify({ numbers });
  return toDocumentsRead([{ ...callerIdsKeyOf(route([])), version: "v", json, expiresAt: null }]);
};
const resting = (numbers: readonly string[], restsUntil = Infinity) =>
  documentsOf(
    Object.fromEntries(
      numbers.map((one) => [one, { blocked: 0, restsUntil: Math.min(restsUntil, 1e15), since: 0 }]),
    ),
  );
const chosen = (
  callerIds: readonly string[],
  callee: string,
  documents = documentsOf({}),
  now = 0,
) => {
  const found = withCallerId(route(callerIds), callee, { documents, now });
  return found === undefined ? undefined : callerIdOf({ route: found });
};
const callees = Array.from({ length: 400 }, (_, index) => numberOf(index));

describe("a pool of calling numbers", () => {
  it("gives each callee the same number, of its area first, then of its country", () => {
    expect(chosen(pool, "+12125550123")).toBe(pool[0]);
    expect(chosen(pool, "+13035550123")).toBe(pool[1]);
    expect(chosen(pool, "+442079460123")).toBe(pool[2]);
    expect([pool[0], pool[1]]).toContain(chosen(pool, "+14155550123"));
    expect(pool).toContain(chosen(pool, "+33140205050"));
    expect(chosen(pool, "+12125550123", resting([pool[0]]))).toBe(pool[1]);
    expect(chosen(pool, "+12125550123", resting([pool[0], pool[1]]))).toBe(pool[2]);
    expect(chosen(pool, "+12125550123", resting(pool))).toBeUndefined();
    expect(isPoolResting(route(pool), { documents: resting(pool), now: 0 })).toBe(true);
    expect(chosen(pool, "+12125550123", resting(pool, 5), 5)).toBe(pool[0]);
    expect(isPoolResting(route(pool), { documents: resting(pool, 5), now: 5 })).toBe(false);
  });

  it("leaves a route without the pool, as rows have it", () => {
    const found = withCallerId(route(pool), "+12125550123", { documents: documentsOf({}), now: 0 });
    expect(found).toEqual({ provider: "twilio", account: "twilio", from: pool[0] });
  });

  it(
    "spreads callees over all numbers, and moves only those of a number that comes, leaves or rests",
    inSlowTier,
    () => {
      const number = fc.integer({ min: 100, max: 999 }).map((n) => `+1303555${String(n + 1000)}`);
      fc.assert(
        fc.property(
          fc.uniqueArray(number, { minLength: 2, maxLength: 8 }),
          fc.nat(),
          (numbers, index) => {
            const gone = numbers[index % numbers.length] ?? "";
            const others = numbers.filter((one) => one !== gone);
            const counts = new Map(numbers.map((one) => [one, 0]));
            for (const callee of callees) {
              const before = chosen(numbers, callee) ?? "";
              counts.set(before, (counts.get(before) ?? 0) + 1);
              expect(chosen(numbers.toReversed(), callee)).toBe(before);
              const after = chosen(others, callee);
              expect(chosen(numbers, callee, resting([gone]))).toBe(after);
              if (before !== gone) expect(after).toBe(before);
            }
            const share = callees.length / numbers.length;
            for (const count of counts.values()) {
              expect(count).toBeGreaterThan(share / 3);
              expect(count).toBeLessThan(share * 2);
            }
          },
        ),
        { numRuns: perTier({ quick: 2, long: 12 }) },
      );
    },
  );

  it("has a number rest for a day once ten calls in a row are blocked, counting none from before", () => {
    const ended = (status: CallResult["status"], claimedAt: number, from: string = pool[0]) => ({
      agentId: "a",
      claimedAt,
      route: { provider: "twilio" as const, account: toAccountName("twilio"), from },
      result: { ...nothing, status },
    });
    const nine = Array.from({ length: 9 }, () => ended("blocked", 10));
    const first = addPoolResults(
      undefined,
      [...nine, ended("failed", 10), ended("blocked", 10, pool[1])],
      20,
    );
    expect(first.resting).toEqual([]);
    const reset = addPoolResults(first.next, [ended("busy", 11), ...nine], 20);
    expect(reset.resting).toEqual([]);
    const { next, resting: now } = addPoolResults(reset.next, [ended("blocked", 12)], 20);
    expect(now).toEqual([pool[0]]);
    expect(next?.numbers[pool[0]]).toEqual({ blocked: 0, restsUntil: 20 + dayMs, since: 20 });
    expect(next?.numbers[pool[1]]?.blocked).toBe(1);
    expect(addPoolResults(next, [...nine, ended("blocked", 20)], 30).next).toBeUndefined();
    expect(addPoolResults(next, [ended("completed", 40)], 50).next).toBeUndefined();
  });
});

describe("a pool in the plan", () => {
  const problems = (agent: object) => {
    const read = readDialPlan({ ...testPlan, agents: { a: agent } });
    return "problems" in read
      ? read.problems.map(({ path, message }) => `${path.map(String).join(".")}: ${message}`)
      : [];
  };
  const telnyx = { provider: "telnyx", connection: "c" };

  it("is of phone numbers, each once, for a provider that takes one", () => {
    expect(problems({ ...telnyx, from: { pool, pick: "callee" } })).toEqual([]);
    expect(problems({ ...telnyx, from: { pool: [pool[0], "12"], pick: "callee" } })).toEqual([
      "agents.a.from.pool.1: must be an E.164 number",
    ]);
    expect(problems({ ...telnyx, from: { pool: [pool[0], pool[0]], pick: "callee" } })).toEqual([
      "agents.a.from.pool: must not have a number twice",
    ]);
    expect(problems({ ...telnyx, from: { pool: [], pick: "callee" } })).toHaveLength(1);
    expect(problems({ ...telnyx, from: { pool, pick: "any" } })[0]).toMatch(
      /^agents\.a\.from\.pick/,
    );
    expect(problems({ ...telnyx, from: { pool } })[0]).toMatch(/^agents\.a\.from\.pick/);
    for (const agent of [
      { provider: "vapi", agent: "x" },
      { provider: "webhook", url: "https://x.example" },
    ]) {
      expect(problems({ ...agent, from: { pool, pick: "callee" } })).toEqual([
        "agents.a.from: must not be a pool: this provider takes no phone number",
      ]);
    }
  });
});

describe("calls of an agent with a pool", () => {
  const answerUrl = "https://x.example/";
  const plan = (numbers: readonly string[] = pool, more: object = {}) => ({
    agents: {
      agent_sales: { provider: "twilio", from: { pool: numbers, pick: "callee" }, answerUrl },
    },
    providers: { twilio: { callsPerSecond: 100 } },
    results: {},
    ...more,
  });
  const create = (numbers?: readonly string[]): Bench => {
    const bench = createDialerBench({ plan: plan(numbers), startAt: "2026-06-01T10:00Z" });
    bench.answer = async ({ id }) => ({ kind: "placed", providerCallId: `CA_${id}` });
    return bench;
  };
  const callersIn = (bench: Bench) => bench.dialed.map((one) => callerIdOf(one));

  /** Places calls to Denver that carriers block, and has their results read. */
  async function blockCalls(bench: Bench, count: number) {
    await sendEach(bench, ...callsNow(bench, count));
    await bench.simulate(count + 5, { firstSweepSeconds: 1000 });
    const all = new Map(
      bench.dialed.map(({ call }) => [`CA_${call.id}`, { ...nothing, status: "blocked" as const }]),
    );
    bench.list = async () => all;
    bench.record = async ({ providerCallId }) => all.get(providerCallId);
    bench.advance(2 * minuteMs);
    await bench.sweep();
    await bench.deliverEvents();
  }

  it("are made from its callee's number, which stands in the row", async () => {
    const bench = create();
    const call = aCallNow(bench, { phone_number: "+12125550123" });
    await sendEach(bench, call, aCallNow(bench, { phone_number: "+13035550123" }));
    await bench.deliver();
    expect(callersIn(bench)).toEqual([pool[0], pool[1]]);
    expect((await rowOf(bench, call)).route).toEqual({
      provider: "twilio",
      account: "twilio",
      from: pool[0],
      answerUrl,
    });
  });

  it(
    "go from the next number once theirs is blocked, and wait once all are, until one has rested",
    inSlowTier,
    async () => {
      const bench = create([pool[0], pool[1]]);
      await blockCalls(bench, 10);
      expect(new Set(callersIn(bench))).toEqual(new Set([pool[1]]));
      const alarms = bench.events.filter(({ level }) => level === "alarm");
      expect(alarms).toEqual([
        {
          level: "alarm",
          event: "caller_id.rests",
          agent_id: "agent_sales",
          account: "twilio",
          problem: "from.pool.1",
        },
      ]);
      expect(JSON.stringify(bench.events)).not.toContain("5550190");
      await blockCalls(bench, 10);
      expect(new Set(callersIn(bench).slice(10))).toEqual(new Set([pool[0]]));
      await sendEach(bench, ...callsNow(bench, 2));
      await bench.simulate(3600);
      expect(bench.dialed).toHaveLength(20);
      const waiting = await rowsIn(bench, "WAITING");
      expect(waiting.map(({ reason }) => reason)).toEqual(["caller_ids", "caller_ids"]);
      const versions = waiting.map(({ version }) => version);
      const sent = bench.sent();
      await bench.simulate(3600);
      expect(bench.sent()).toBe(sent);
      expect((await rowsIn(bench, "WAITING")).map(({ version }) => version)).toEqual(versions);
      await bench.simulate(86_400);
      expect(new Set(callersIn(bench).slice(20))).toEqual(new Set([pool[1]]));
      expect(bench.dialed).toHaveLength(22);
    },
  );

  it("are sent again from the number of the first request, whatever the pool is by then", async () => {
    const connect = (numbers: readonly string[]) => ({
      agents: {
        agent_sales: {
          provider: "amazon-connect",
          region: "us-east-1",
          instance: "12345678-1234-4234-8234-123456789012",
          flow: "f",
          from: { pool: numbers, pick: "callee" },
        },
      },
    });
    const bench = createDialerBench({ plan: connect([pool[0]]), startAt: "2026-06-01T10:00Z" });
    bench.answer = async () => (bench.dialed.length === 1 ? unknown : { kind: "placed" });
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    bench.changePlan(connect([pool[1]]));
    await bench.simulate(400);
    expect(callersIn(bench)).toEqual([pool[0], pool[0]]);
    expect((await rowOf(bench, call)).state).toBe("PLACED");
  });

  it("leave nothing behind in the documents as long as none is blocked", inSlowTier, async () => {
    const bench = create();
    await sendEach(bench, ...callsNow(bench, 3));
    await bench.deliver();
    bench.record = async () => ({ ...nothing, status: "completed", seconds: 1 });
    bench.advance(2 * minuteMs);
    await bench.sweep();
    await bench.deliverEvents();
    expect((await rowsIn(bench, "PLACED")).map(({ result }) => result?.status)).toContain(
      "completed",
    );
    expect(await documentOf(bench, "caller-ids", "twilio")).toBeUndefined();
  });
});
