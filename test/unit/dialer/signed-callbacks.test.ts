import { routeFrom } from "#test/support/plans.ts";
import { describe, expect, it } from "vitest";
import type { CallResult } from "#shared/calls/call-result.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { CallbackReport } from "#shared/providers/provider.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  boom,
  putIn,
  rowOf,
  sendEach,
  webhook,
} from "#test/support/dialer-calls.ts";
import {
  createBench as createResultsBench,
  place as placeCalls,
} from "#test/support/results-bench.ts";
import { firstOf } from "#test/support/first-of.ts";

const minuteMs = 60_000;
const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };
const busy: CallResult = { ...nothing, status: "busy", word: "busy" };
const route = routeFrom("webhook", webhook);

function createBench(told: CallbackReport = { kind: "reported", result: busy }): Bench {
  const bench = createDialerBench({ plan: { results: { waitMinutes: 30 } } });
  bench.told = async () => told;
  return bench;
}

/** Places a call and returns its row. */
async function place(bench: Bench): Promise<CallRow> {
  const call = aCallNow(bench);
  await sendEach(bench, call);
  await bench.deliver();
  return rowOf(bench, call);
}

const signed = { body: "{}", headers: {}, receivedAt: 1 };

/** Delivers a signed callback: to the address of a call's claim, or to that of its account. */
async function tell(bench: Bench, row: CallRow | undefined, claim = row?.claims.at(-1) ?? "") {
  const call = row && { id: row.id, claim };
  await bench.eventsQueue.send({
    kind: "callback",
    account: "webhook",
    signed,
    ...(call === undefined ? {} : { call }),
  });
  return bench.deliverEvents();
}

describe("a signed callback", () => {
  it("reports the result of its call, which is then no longer waited for", async () => {
    const bench = createBench();
    const placed = await place(bench);
    expect(placed).toMatchObject({ state: "PLACED", lane: "results:webhook" });
    expect(await tell(bench, placed)).toEqual(["ack"]);
    expect(await rowOf(bench, placed)).toMatchObject({
      result: { status: "busy" },
      lane: null,
      dueAt: null,
    });
  });

  it("that never comes leaves the result unknown, once the time is over", async () => {
    const bench = createBench();
    const placed = await place(bench);
    for (const minutes of [29, 1]) {
      bench.advance(minutes * minuteMs);
      await bench.sweep();
      await bench.deliverEvents();
    }
    expect(await rowOf(bench, placed)).toMatchObject({
      result: { status: "unknown" },
      lane: null,
    });
    await tell(bench, placed); // late, and still better than nothing
    expect(await rowOf(bench, placed)).toMatchObject({ result: { status: "busy" } });
  });

  it("that reports a different end is noted once, with an alarm, and the first end stands", async () => {
    const bench = createBench();
    const placed = await place(bench);
    await tell(bench, placed);
    bench.told = async () => ({ kind: "reported", result: { ...busy, status: "completed" } });
    await tell(bench, placed);
    await tell(bench, placed);
    const row = await rowOf(bench, placed);
    expect(row.result).toMatchObject({ status: "busy" });
    expect(row.history.map(({ reason }) => reason)).toEqual([
      "claimed",
      "placed",
      "result_contradicted",
    ]);
    expect(bench.eventsOf("result.contradicted")).toMatchObject([{ level: "alarm" }]);
  });

  it.each(["UNKNOWN", "NEEDS_REVIEW"] as const)(
    "proves that a call that is %s was placed",
    async (state) => {
      const bench = createBench();
      const row = await putIn(bench, state, aCallNow(bench), { route });
      await tell(bench, row);
      expect(await rowOf(bench, row)).toMatchObject({
        state: "PLACED",
        reason: "found",
        result: { status: "busy" },
        request: null,
      });
      // Its end is its result, and not a placement of which no result is asked.
      const usage = await bench.documents.list("usage", { limit: 10 });
      const counted = usage.flatMap(({ value }) => Object.keys(value));
      expect(counted.filter((name) => name.startsWith("@")).map((name) => name.slice(1))).toEqual([
        expect.stringMatching(/^\d+ busy$/),
      ]);
      expect(bench.dialed).toEqual([]);
    },
  );

  it("about a call that is being dialed waits for the holder of its claim", async () => {
    const bench = createBench();
    const row = await putIn(bench, "DIALING", aCallNow(bench), { route });
    expect(await tell(bench, row)).toEqual([{ retryAfterSeconds: 1 }]);
    expect(await rowOf(bench, row)).toEqual(row);
  });

  it("about a call that its own answer refused changes nothing", async () => {
    const bench = createBench({ kind: "reported", result: { ...busy, status: "failed" } });
    const row = await putIn(bench, "REJECTED", aCallNow(bench), { route });
    expect(await tell(bench, row)).toEqual(["ack"]);
    expect(await rowOf(bench, row)).toEqual(row);
  });

  it("is reported though another callback of its call is written at the same moment", async () => {
    const bench = createBench();
    const placed = await place(bench);
    let isFirst = true;
    bench.breakLedger({
      async write(changes) {
        if (!isFirst) return bench.rows.write(changes);
        isFirst = false;
        return changes.map(() => false);
      },
    });
    expect(await tell(bench, placed)).toEqual(["ack"]);
    expect((await rowOf(bench, placed)).result).toMatchObject({ status: "busy" });
  });

  it("of another claim or about something else changes nothing", async () => {
    const bench = createBench();
    const row = await putIn(bench, "UNKNOWN", aCallNow(bench), { route });
    const placed = await place(bench);
    await tell(bench, placed, "another");
    expect((await rowOf(bench, placed)).result).toBeNull();
    bench.told = async () => ({ kind: "other" });
    await tell(bench, row);
    expect(await rowOf(bench, row)).toEqual(row);
  });

  it("that does not verify is dropped, with an alarm at most once an hour", async () => {
    const bench = createBench({ kind: "unverified" });
    const placed = await place(bench);
    expect(await tell(bench, placed)).toEqual(["ack"]);
    await tell(bench, placed);
    bench.advance(60 * minuteMs);
    await tell(bench, placed);
    expect(bench.eventsOf("callback.unverified").map(({ level }) => level)).toEqual([
      "alarm",
      "warning",
      "alarm",
    ]);
    expect((await rowOf(bench, placed)).result).toBeNull();
  });

  it("that the API has verified comes again while its secret is replaced, for six minutes", async () => {
    const bench = createBench({ kind: "unverified" });
    const placed = await place(bench);
    const call = { id: placed.id, claim: placed.claims.at(-1) ?? "" };
    const receivedAt = bench.now();
    const deliver = async () => {
      const young = { ...signed, receivedAt };
      await bench.eventsQueue.send({ kind: "callback", account: "webhook", signed: young, call });
      return bench.deliverEvents();
    };
    for (const step of [0, 6 * minuteMs - 1]) {
      bench.advance(step);
      // A delivery also has the callbacks that former ones handed back.
      const answers = new Set(JSON.stringify(await deliver()).match(/\{.*?\}/g));
      expect([...answers]).toEqual(['{"retryAfterSeconds":30}']);
    }
    bench.told = async () => ({ kind: "reported", result: busy });
    expect(await deliver()).toEqual(["ack"]);
    expect((await rowOf(bench, placed)).result).toMatchObject({ status: "busy" });
    bench.told = async () => ({ kind: "unverified" });
    bench.advance(1);
    expect(await deliver()).toEqual(["ack"]);
  });

  it("to the address of an account applies to the call and attempt that its body names", async () => {
    const bench = createBench();
    const placed = await place(bench);
    const toldOf = (attempt: number): CallbackReport => ({
      kind: "reported",
      result: busy,
      call: { id: placed.id, attempt },
    });
    bench.told = async () => toldOf(2);
    await tell(bench, undefined);
    expect((await rowOf(bench, placed)).result).toBeNull();
    bench.told = async () => toldOf(1);
    await tell(bench, undefined);
    expect((await rowOf(bench, placed)).result).toMatchObject({ status: "busy" });
  });

  it.each(["PLACED", "UNKNOWN", "NEEDS_REVIEW"] as const)(
    "of one account changes nothing about another account's call that is %s",
    async (state) => {
      const bench = createBench();
      const row =
        state === "PLACED"
          ? await place(bench)
          : await putIn(bench, state, aCallNow(bench), { route });
      const claim = row.claims.at(-1) ?? "";
      const callback = { kind: "callback", account: "hook-eu", signed } as const;
      await bench.eventsQueue.send({ ...callback, call: { id: row.id, claim } });
      expect(await bench.deliverEvents()).toEqual(["ack"]);
      // The address of the whole account, whose signed body names the other one's call.
      bench.changePlan({
        agents: { other: { ...webhook, provider: "hook-eu" } },
        providers: { "hook-eu": { type: "webhook" } },
        results: { waitMinutes: 30 },
      });
      bench.told = async () => ({
        kind: "reported",
        result: busy,
        call: { id: row.id, attempt: 1 },
      });
      await bench.eventsQueue.send(callback);
      expect(await bench.deliverEvents()).toEqual(["ack"]);
      expect(await rowOf(bench, row)).toEqual(row);
      expect(bench.eventsOf("call.opted_out")).toEqual([]);
    },
  );

  it("is verified by the route of its call, whose account may have left the plan", async () => {
    const bench = createBench();
    const placed = await place(bench);
    bench.changePlan({
      agents: { other: { ...webhook, url: "http://127.0.0.1:8/other" } },
      results: { waitMinutes: 30 },
    });
    const asked: unknown[] = [];
    bench.told = async (_, told) => {
      asked.push(told);
      return { kind: "other" };
    };
    await tell(bench, placed);
    expect(asked).toEqual([placed.route]);
  });

  it("to the address of an account that has left the plan is verified by the route of the call that its body names", async () => {
    const bench = createBench();
    const placed = await place(bench);
    bench.changePlan({
      agents: { other: { ...webhook, provider: "hook-eu" } },
      providers: { "hook-eu": { type: "webhook" } },
      results: { waitMinutes: 30 },
    });
    bench.told = async (_, along) => ({
      kind: "reported",
      result: busy,
      optedOut: along.account === "webhook",
      call: { id: placed.id, attempt: 1 },
    });
    const tellBody = async (body: object) => {
      const whole = { ...signed, body: JSON.stringify(body) };
      await bench.eventsQueue.send({ kind: "callback", account: "webhook", signed: whole });
      return bench.deliverEvents();
    };
    expect(await tellBody({})).toEqual(["ack"]);
    expect(await rowOf(bench, placed)).toEqual(placed);
    const without = bench.eventsOf("callback.without_row");
    expect(without).toMatchObject([{ level: "warning", account: "webhook" }]);
    expect(await tellBody({ room: { name: `${placed.id}-1` } })).toEqual(["ack"]);
    expect(await rowOf(bench, placed)).toMatchObject({
      result: { status: "busy" },
      optedOut: true,
    });
  });

  it("of a provider that signs none is a hint, as a header alone does not sign it", async () => {
    const bench = createResultsBench();
    const call = firstOf(await placeCalls(bench, 1));
    const row = await rowOf(bench, call);
    bench.record = async () => busy;
    const callback = { kind: "callback", account: "twilio", signed } as const;
    const of = { id: row.id, claim: row.claims.at(-1) ?? "" };
    await bench.eventsQueue.send({ ...callback, call: of });
    expect(await bench.deliverEvents()).toEqual(["ack"]);
    expect((await rowOf(bench, row)).result).toMatchObject({ status: "busy" });
  });

  it("that is not in its form is dropped, apart from one that does not verify", async () => {
    const bench = createBench({ kind: "malformed" });
    const placed = await place(bench);
    expect(await tell(bench, placed)).toEqual(["ack"]);
    bench.told = async () => ({ kind: "unverified" });
    await tell(bench, placed);
    const fields = { account: "webhook", call_id: placed.id };
    expect(bench.eventsOf("callback.malformed")).toMatchObject([{ level: "warning", ...fields }]);
    expect(bench.eventsOf("callback.unverified")).toMatchObject([{ level: "alarm", ...fields }]);
    expect(await rowOf(bench, placed)).toEqual(placed);
  });

  it("comes again if the ledger cannot be reached", async () => {
    const bench = createBench();
    const placed = await place(bench);
    bench.breakLedger({ read: boom });
    expect(await tell(bench, placed)).not.toEqual(["ack"]);
    bench.repairLedger();
    expect((await rowOf(bench, placed)).result).toBeNull();
  });

  it.each(["fails", "always meets a conflict"])(
    "comes again if the write that its call was placed %s, and waits on the queue",
    async (what) => {
      const bench = createBench();
      const row = await putIn(bench, "UNKNOWN", aCallNow(bench), { route });
      bench.breakLedger({
        write: what === "fails" ? boom : async (changes) => changes.map(() => false),
      });
      expect(await tell(bench, row)).toEqual([{ retryAfterSeconds: 5 }]);
      expect(await rowOf(bench, row)).toEqual(row);
      bench.repairLedger();
      await bench.deliver();
      expect(await rowOf(bench, row)).toMatchObject({ state: "PLACED", result: null });
      bench.advance(5_000);
      expect(await bench.deliverEvents()).toEqual(["ack"]);
      expect(await rowOf(bench, row)).toMatchObject({ result: { status: "busy" }, dueAt: null });
    },
  );
});
