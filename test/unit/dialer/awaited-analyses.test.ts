import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { sweepKey } from "#shared/policy/ledger-epoch.ts";
import { analysesLane } from "#shared/calls/lane.ts";
import type { ReadResult } from "#shared/providers/provider.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { aCallNow, type Bench, put, rowOf, sendEach } from "#test/support/dialer-calls.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";
import {
  busy,
  completed,
  minuteMs,
  pollAfter,
  resultOf,
  pollMinuteAfter,
} from "#test/support/results-bench.ts";

const vapi = { provider: "vapi", agent: "a", from: "f" };
const rule = { within: "14d", most: 2 };
const agents = { agent_sales: { ...vapi, callBacks: rule } };
const pending: ReadResult = { ...completed, analysis: { isAnalyzed: false } };

function createBench(plan: object = { agents, results: {} }) {
  const bench = createDialerBench({ startAt: "2026-11-24T12:00:00Z", plan });
  bench.answer = async ({ id }) => ({ kind: "placed", providerCallId: `ring_${id}` });
  return bench;
}

/** Has a client's call dialed. */
async function place(bench: Bench, client: string) {
  const call = aCallNow(bench, { timezone: "UTC" }, { client });
  await sendEach(bench, call);
  await bench.deliver();
  expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED" });
  return call;
}

/** Has a call that ended wait for its analysis. */
async function awaitOne(bench: Bench, client: string) {
  const call = await place(bench, client);
  bench.record = async () => pending;
  await pollAfter(bench, 2);
  const row = await rowOf(bench, call);
  const lane = analysesLane({ account: "vapi" });
  expect(row).toMatchObject({ result: { status: "completed" }, request: {}, lane });
  return row;
}

/** Makes copies of a row. */
const copies = (row: CallRow, count: number): CallRow[] =>
  Array.from({ length: count }, (_, n) => ({
    ...row,
    id: `${row.id.slice(0, -8)}${String(n).padStart(8, "0")}`,
    version: `copy${n}`,
  }));

/** Calls of one client: more than a page of them, and more than can be read in an hour in the slow tier. */
const many = perTier({ quick: 1_200, long: 10_000 });

describe("many calls that await an analysis", () => {
  /** Has a client's calls of one time wait for their analyses. */
  async function awaitMany(bench: Bench) {
    const rows = copies(await awaitOne(bench, "crm"), many);
    await put(bench, ...rows);
    return rows;
  }

  it("delay no result of another client", inSlowTier, async () => {
    const bench = createBench();
    await awaitMany(bench);
    const other = await place(bench, "shop");
    const asked: string[] = [];
    bench.record = async ({ id }) => {
      asked.push(id);
      return id === other.id ? busy : pending;
    };
    const counts = { due: 0, rowsRead: 0, written: 0 };
    bench.breakLedger({
      due: async (query) => {
        if (query.of === undefined) counts.due += 1;
        return bench.rows.due(query);
      },
      read: async (ids) => {
        counts.rowsRead += ids.length;
        return bench.rows.read(ids);
      },
      write: async (changes) => {
        counts.written += changes.length;
        return bench.rows.write(changes);
      },
    });
    await pollAfter(bench, 2);
    expect(await resultOf(bench, other)).toMatchObject({ status: "busy" });
    // The first one of all, and as many as an account is asked in a delivery.
    expect(asked.indexOf(other.id)).toBe(0);
    expect(asked).toHaveLength(20);
    // A sweep looks five times at lanes; its poll reads a page of the analyses, and this one result.
    expect(counts).toEqual({ due: 5, rowsRead: 501, written: 20 });
  });

  it("delay no result of another client once they are too late", inSlowTier, async () => {
    const bench = createBench();
    await awaitMany(bench);
    const other = await place(bench, "shop");
    bench.record = async ({ id }) => (id === other.id ? busy : pending);
    await pollAfter(bench, 20);
    expect(await resultOf(bench, other)).toMatchObject({ status: "busy" });
  });

  it("are a quarter of what is read beside many results", inSlowTier, async () => {
    const bench = createBench();
    await awaitMany(bench);
    const one = await rowOf(bench, await place(bench, "shop"));
    await put(bench, ...copies(one, 200));
    const asked: string[] = [];
    bench.record = async ({ id }) => {
      asked.push(id.slice(0, -8));
      return pending;
    };
    await pollAfter(bench, 2);
    const results = asked.filter((id) => one.id.startsWith(id));
    expect(results.length / asked.length).toBeCloseTo(0.75, 1);
  });

  it("are not forgotten beside many results by an account that is asked once in ten seconds", async () => {
    const bench = createBench({
      agents,
      results: {},
      providers: { vapi: { pollsPerSecond: 0.1 } },
    });
    await put(bench, ...copies(await awaitOne(bench, "crm"), 20));
    const one = await rowOf(bench, await place(bench, "shop"));
    await put(bench, ...copies(one, 50));
    const asked: string[] = [];
    bench.record = async ({ id }) => {
      asked.push(id.slice(0, -8));
      return pending;
    };
    let turn = 0;
    bench.deps.random = { ...bench.deps.random, fraction: () => (turn++ * 0.3) % 1 };
    await pollMinuteAfter(bench, 2);
    for (let minute = 1; minute < 8; minute++) await pollMinuteAfter(bench, 0);
    const analyses = asked.filter((id) => !one.id.startsWith(id));
    expect(asked.length).toBeGreaterThanOrEqual(16);
    expect(analyses.length / asked.length).toBeCloseTo(0.25, 1);
  });

  it("delay another client's wish by a quarter of an hour at most", inSlowTier, async () => {
    const bench = createBench();
    await awaitMany(bench);
    const other = await awaitOne(bench, "shop");
    const begunAt = bench.now();
    const readAt: number[] = [];
    bench.record = async ({ id }) => {
      if (id === other.id) readAt.push(bench.now());
      return { ...completed, analysis: { isAnalyzed: false } };
    };
    while (readAt.length === 0) await pollAfter(bench, 1);
    expect(readAt[0]).toBeLessThan(begunAt + 17 * minuteMs);
  });

  it("are read at the account's pace of requests, of which one may take several", async () => {
    const bench = createBench();
    await awaitMany(bench);
    let asked = 0;
    bench.record = async () => {
      asked += 1;
      return { ...completed, analysis: { isAnalyzed: false, requests: 6 } };
    };
    await pollMinuteAfter(bench, 2);
    expect(asked).toBe(96 / 6);
  });

  it("end their reading before the invocation does, however slow the account's pace", async () => {
    const bench = createBench({
      agents,
      results: {},
      providers: { vapi: { pollsPerSecond: 0.1 } },
    });
    await place(bench, "crm");
    let asked = 0;
    bench.record = async () => {
      asked += 1;
      return { ...completed, analysis: { isAnalyzed: false, requests: 6 } };
    };
    bench.advance(2 * minuteMs);
    await bench.sweep();
    const begunAt = bench.now();
    await bench.deliverEvents(31_000);
    expect(asked).toBe(1);
    expect(bench.now() - begunAt).toBeLessThan(31_000);
  });

  it("are counted in the log where they are left out, as their wishes are lost", async () => {
    const bench = createBench();
    await awaitMany(bench);
    let read = 0;
    bench.record = async () => {
      read += 1;
      return { ...completed, analysis: { isAnalyzed: true } };
    };
    await pollAfter(bench, 60);
    const counts = bench.eventsOf("results.late").map(({ count }) => Number(count));
    // All of them, and the one of which they are copies.
    expect(read + counts.reduce((sum, one) => sum + one, 0)).toBe(many + 1);
    expect(counts.length).toBeGreaterThan(0);
  });

  it.each(["slow", "down"])(
    "keep no number for longer than an hour while it is %s",
    inSlowTier,
    async (how) => {
      const bench = createBench();
      const rows = await awaitMany(bench);
      const endedAt = bench.now();
      if (how === "down") bench.record = async () => Promise.reject(new Error("down"));
      while (bench.now() < endedAt + 60 * minuteMs) {
        await pollAfter(bench, bench.now() < endedAt + 40 * minuteMs ? 4 : 1);
      }
      const read = await bench.rows.read(rows.map(({ id }) => id));
      expect(read.rows.filter(({ request }) => request !== null)).toEqual([]);
    },
  );
});

describe("the number of an ended call", () => {
  const others = { agent_desk: { provider: "webhook", url: "http://127.0.0.1:9/dial" } };

  it.each([
    ["its account", { agents: others, results: {} }],
    ["what asks for results", { agents: { agent_sales: vapi } }],
  ])("goes within an hour, also if the plan loses %s", inSlowTier, async (_, plan) => {
    const bench = createBench();
    const row = await awaitOne(bench, "crm");
    bench.record = async () => Promise.reject(new Error("nobody may ask"));
    bench.changePlan(plan);
    for (let minute = 0; minute < 60; minute++) await pollAfter(bench, 1);
    expect(await rowOf(bench, row)).toMatchObject({ request: null, dueAt: null, lane: null });
    expect(bench.eventsOf("results.unreachable")).toEqual([]);
  });

  it.each([600])(
    "is erased though %i younger calls of that account wait",
    inSlowTier,
    async (count) => {
      const retry = { attempts: 3, within: "24h", after: { busy: "15m" } };
      const bench = createBench({ agents: { agent_sales: { ...vapi, retry } }, results: {} });
      const row = await rowOf(bench, await place(bench, "crm"));
      await pollAfter(bench, 1);
      bench.changePlan({ agents: others, results: {} });
      for (let hour = 0; hour < 3; hour++) await pollAfter(bench, 60);
      const young = copies(row, count).map((one) => ({ ...one, claimedAt: bench.now(), dueAt: 0 }));
      await put(bench, ...young);
      let rowsRead = 0;
      bench.breakLedger({
        read: async (ids) => {
          rowsRead += ids.length;
          return bench.rows.read(ids);
        },
      });
      await pollAfter(bench, 61);
      expect(await rowOf(bench, row)).toMatchObject({
        result: { status: "unknown" },
        request: null,
      });
      // Each of them once, to be held.
      expect(rowsRead).toBeLessThan(2 * count);
      rowsRead = 0;
      await pollAfter(bench, 1);
      expect(rowsRead).toBe(0);
    },
  );

  it("is looked for during two days after the plan has lost its account", async () => {
    const bench = createBench();
    await awaitOne(bench, "crm");
    bench.changePlan({ agents: others, results: {} });
    const known = async () =>
      (await bench.documents.read([sweepKey])).get("sweep", sweepKey.key)?.value.accounts;
    await pollAfter(bench, 47 * 60);
    expect(Object.keys((await known()) ?? {})).toEqual(["vapi", "webhook"]);
    await pollAfter(bench, 60);
    expect(Object.keys((await known()) ?? {})).toEqual(["webhook"]);
  });

  it("goes within hours, its result unknown, if the plan loses the account of a call that may be retried", async () => {
    const retry = { attempts: 3, within: "24h", after: { busy: "15m" } };
    const bench = createBench({ agents: { agent_sales: { ...vapi, retry } }, results: {} });
    const call = await place(bench, "crm");
    await pollAfter(bench, 1);
    bench.changePlan({ agents: others, results: {} });
    for (let hour = 0; hour < 5; hour++) await pollAfter(bench, 60);
    expect(await rowOf(bench, call)).toMatchObject({
      result: { status: "unknown" },
      request: null,
      dueAt: null,
    });
  });
});

describe("a list of results", () => {
  it("names no retry after a voicemail before its record was read for a wish", async () => {
    const retry = { attempts: 3, within: "24h", after: { voicemail: "15m" } };
    const agent = { ...vapi, retry, callBacks: rule };
    const bench = createBench({ agents: { agent_sales: agent }, results: {} });
    const rung: { id: string }[] = [];
    for (let n = 0; n < 6; n++) rung.push(await place(bench, `client_${n}`));
    const voicemail = { ...completed, status: "voicemail", human: false } as const;
    bench.list = async () => new Map(rung.map(({ id }) => [`ring_${id}`, voicemail]));
    const wished = "2026-11-24T18:00:00Z";
    bench.record = async () => ({ ...voicemail, analysis: { isAnalyzed: true, wished } });
    await pollAfter(bench, 2);
    for (const call of rung) {
      expect(await rowOf(bench, call)).toMatchObject({ callBack: { at: Date.parse(wished) } });
    }
  });
});
