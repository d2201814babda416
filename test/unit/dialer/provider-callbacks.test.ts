import { consumeEvents } from "#test/support/entries.ts";
import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { aCallNow, type Bench, boom, putIn, rowOf, stateOf } from "#test/support/dialer-calls.ts";
import {
  pollAfter,
  busy,
  completed,
  createBench,
  live,
  minuteMs,
  place,
  resultOf,
  route,
  twilio,
} from "#test/support/results-bench.ts";
import { firstOf } from "#test/support/first-of.ts";

describe("a provider's callback", () => {
  const callback = async (bench: Bench, row: CallRow, claim = row.claims.at(-1) ?? "") => {
    await bench.eventsQueue.send({
      kind: "callback",
      account: "twilio",
      call: { id: row.id, claim },
    });
    return bench.deliverEvents();
  };

  it("has the record read at once, and again only after ten seconds", async () => {
    const bench = createBench();
    const call = firstOf(await place(bench, 1));
    let asked = 0;
    bench.record = async () => {
      asked += 1;
      return live;
    };
    const row = await rowOf(bench, call);
    await callback(bench, row);
    await callback(bench, row);
    expect(asked).toBe(1);
    bench.advance(10_000);
    bench.record = async () => busy;
    await callback(bench, row);
    expect(await resultOf(bench, call)).toMatchObject({ status: "busy" });
  });

  it("has a call that a plan without results settled asked for until it ends", async () => {
    const bench = createBench(null);
    const call = firstOf(await place(bench, 1));
    bench.changePlan({ ...twilio, results: {} });
    bench.record = async () => live;
    await callback(bench, await rowOf(bench, call));
    bench.record = async () => busy;
    await pollAfter(bench, 3);
    expect(await rowOf(bench, call)).toMatchObject({ result: { status: "busy" }, lane: null });
  });

  it("changes nothing if its provider has no records to tell a result", async () => {
    const bench = createDialerBench({ plan: { results: {} } });
    bench.answer = async () => ({ kind: "placed", providerCallId: "theirs" });
    const call = firstOf(await place(bench, 1));
    const row = await rowOf(bench, call);
    await callback(bench, row);
    bench.advance(300 * minuteMs);
    await callback(bench, row);
    expect(await rowOf(bench, call)).toEqual(row);
  });

  it("writes no result of a call that an operator has marked placed, as it has no record", async () => {
    const bench = createBench();
    const row = await putIn(bench, "PLACED", aCallNow(bench), { route, reason: "operator" });
    expect([row.providerCallId, row.result]).toEqual([null, null]);
    bench.advance(300 * minuteMs);
    await callback(bench, row);
    expect(await rowOf(bench, row)).toEqual(row);
  });

  it("of another claim is dropped", async () => {
    const bench = createBench();
    const call = firstOf(await place(bench, 1));
    bench.record = boom;
    expect(await callback(bench, await rowOf(bench, call), "v999")).toEqual(["ack"]);
    expect(bench.eventsOf("events.failed")).toEqual([]);
  });

  it.each(["PLACED", "UNKNOWN", "NEEDS_REVIEW"] as const)(
    "of one account has nothing looked up or read of another account's call that is %s",
    async (state) => {
      const bench = createBench();
      const [placed] = state === "PLACED" ? await place(bench, 1) : [];
      const row =
        placed === undefined
          ? await putIn(bench, state, aCallNow(bench), { route })
          : await rowOf(bench, placed);
      const asked: string[] = [];
      bench.find = async () => {
        asked.push("look-up");
        return { by: "id", providerCallId: "CA_found" };
      };
      bench.record = async () => {
        asked.push("record");
        return busy;
      };
      const claim = row.claims.at(-1) ?? "";
      for (const hint of [{ callId: row.id }, { call: { id: row.id, claim } }]) {
        await bench.eventsQueue.send({ kind: "callback", account: "bland", ...hint });
        expect(await bench.deliverEvents()).toEqual(["ack"]);
      }
      expect(asked).toEqual([]);
      expect(await rowOf(bench, row)).toEqual(row);
    },
  );

  it.each(["UNKNOWN", "NEEDS_REVIEW"] as const)(
    "settles a call that is %s once its record is found, without another request",
    async (state) => {
      const bench = createBench();
      const call = aCallNow(bench);
      await putIn(bench, state, call, { route });
      bench.find = async () => ({ by: "id", providerCallId: "CA_found" });
      bench.record = async () => completed;
      await callback(bench, await rowOf(bench, call));
      expect(await rowOf(bench, call)).toMatchObject({
        state: "PLACED",
        reason: "found",
        providerCallId: "CA_found",
        result: { status: "completed" },
      });
      expect(bench.dialed).toEqual([]);
    },
  );

  it("about a call that is being dialed waits for the holder of its claim", async () => {
    const bench = createBench();
    const row = await putIn(bench, "DIALING", aCallNow(bench), { route });
    bench.find = async () => ({ by: "id", providerCallId: "CA_found" });
    expect(await callback(bench, row)).toEqual([{ retryAfterSeconds: 1 }]);
    expect(await rowOf(bench, row)).toEqual(row);
  });

  it("about a call that is being dialed comes soon after its answer, and outlasts its claim", async () => {
    const bench = createBench();
    const row = await putIn(bench, "DIALING", aCallNow(bench), { route });
    const call = { id: row.id, claim: row.claims[0] };
    const sent = JSON.stringify({ kind: "callback", account: "twilio", call });
    let seconds = 0;
    for (let attempt = 1; attempt <= 100; attempt++) {
      const one = { attempt, id: "m", open: async () => sent };
      const [answer] = await consumeEvents([one], bench.deps, bench.now() + 60_000);
      const again = typeof answer === "object" ? answer.retryAfterSeconds : Infinity;
      expect(again).toBeLessThanOrEqual(seconds < 40 ? 1 : 3);
      seconds += again;
    }
    // The longest time limit, the claim's age, the row's margin, and the sweep that lets it lapse.
    expect(seconds).toBeGreaterThanOrEqual(90 + 10 + 15 + 60);
  });

  it("raises an alarm if a call that an operator cancelled was placed after all", async () => {
    const bench = createBench();
    const call = aCallNow(bench);
    await putIn(bench, "UNKNOWN", call, { route });
    const row = await rowOf(bench, call);
    await bench.rows.write([
      {
        next: { ...row, state: "CANCELLED", lane: null, dueAt: null, version: "c" },
        seen: row.version,
      },
    ]);
    bench.find = async () => ({ by: "id", providerCallId: "CA_found" });
    await callback(bench, row);
    expect(await stateOf(bench, call)).toBe("PLACED");
    expect(bench.eventsOf("call.placed_late")).toMatchObject([{ level: "alarm" }]);
  });

  it("proves nothing if no record is found", async () => {
    const bench = createBench();
    const call = aCallNow(bench);
    await putIn(bench, "UNKNOWN", call, { route });
    const row = await rowOf(bench, call);
    await callback(bench, row);
    expect(await rowOf(bench, call)).toEqual(row);
    bench.find = async () => ({ by: "id", notPlaced: { kind: "rejected", code: "gone" } });
    await callback(bench, row);
    expect(await rowOf(bench, call)).toEqual(row);
  });

  it("waits for another delivery where those before it took this one's time", async () => {
    const bench = createBench();
    const calls = await place(bench, 8);
    bench.record = async () => {
      await bench.sleep(2_000);
      return live;
    };
    for (const call of calls) {
      const { id, claims } = await rowOf(bench, call);
      const hint = { kind: "callback", account: "twilio" } as const;
      await bench.eventsQueue.send({ ...hint, call: { id, claim: claims.at(-1) ?? "" } });
    }
    const begunAt = bench.now();
    const answers = await bench.deliverEvents(55_000);
    expect(bench.now() - begunAt).toBeLessThan(55_000);
    expect(answers.slice(0, 5)).toEqual(answers.slice(0, 5).map(() => "ack"));
    expect(answers.at(-1)).toEqual({ retryAfterSeconds: 1 });
  });

  it("is let go after three deliveries if its account does not answer, as the sweep asks anyway", async () => {
    const bench = createBench();
    const call = firstOf(await place(bench, 1));
    bench.record = boom;
    const row = await rowOf(bench, call);
    const sent = {
      kind: "callback",
      account: "twilio",
      call: { id: row.id, claim: row.claims[0] },
    };
    const delivered = (attempt: number) => ({
      attempt,
      id: "m",
      open: async () => JSON.stringify(sent),
    });
    const answers = await consumeEvents(
      [delivered(2), delivered(3)],
      bench.deps,
      bench.now() + 60_000,
    );
    expect(answers).toEqual([{ retryAfterSeconds: expect.any(Number) }, "ack"]);
    expect(bench.eventsOf("results.unreachable")).toHaveLength(1);
  });

  it("comes again if the ledger or the provider cannot be asked", async () => {
    const bench = createBench();
    const call = firstOf(await place(bench, 1));
    bench.record = boom;
    const [answer] = await callback(bench, await rowOf(bench, call));
    expect(answer).not.toBe("ack");
    expect(bench.eventsOf("results.unreachable")).toHaveLength(1);
  });
});
