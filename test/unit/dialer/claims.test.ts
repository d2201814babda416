import { accountOf } from "#test/support/account-of.ts";
import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { applyClaim } from "#shared/calls/transitions.ts";
import type { Change } from "#shared/ports/ledger.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { afterClaims, claims, outcomeOf } from "#test/support/claims.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  boom,
  callsNow,
  due,
  hashKey,
  message,
  putIn,
  rowOf,
  sendEach,
  stateOf,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

describe("a claim", () => {
  it("that has grown old while the function was frozen is not dialed", async () => {
    const bench = createDialerBench();
    const call = aCall();
    afterClaims(bench, () => bench.advance(10_001));
    await sendEach(bench, call);
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "claim_too_old" });
    bench.repairLedger();
    await bench.run(60);
    expect(bench.dialed).toHaveLength(1);
  });

  it("that took effect though its answer was lost is dialed", async () => {
    const bench = createDialerBench();
    const call = aCall();
    afterClaims(bench, boom);
    await sendEach(bench, call);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed).toHaveLength(1);
    expect(await stateOf(bench, call)).toBe("PLACED");
    expect(bench.queued()).toEqual([]);
  });

  it("that failed leaves the call to another's successful claim", async () => {
    const bench = createDialerBench();
    const call = aCall();
    bench.breakLedger({
      async write(changes) {
        if (claims(changes)) {
          await putIn(bench, "DIALING", call);
          return boom();
        }
        return bench.rows.write(changes);
      },
    });
    await sendEach(bench, call);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed).toEqual([]);
    expect(bench.queued()).toEqual([]);
  });

  it("that failed dials nobody; its message comes again, after an outcome that nothing was sent", async () => {
    const bench = createDialerBench();
    const call = aCall();
    bench.breakLedger({ write: boom });
    await sendEach(bench, call);
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 5 }]);
    expect(bench.dialed).toEqual([]);
    expect(bench.queued().map(({ kind }) => kind)).toEqual(["outcome", "calls"]);
    expect(bench.queued()[0]).toMatchObject({ settlement: { id: call.id, state: "WAITING" } });
    expect(bench.delays()).toEqual([60, 5]);
    bench.repairLedger();
    await bench.run(61);
    expect(bench.dialed).toHaveLength(1);
  });

  // The first version left such a row DIALING, so that nobody dialed the call and a person had to look at it.
  it.each([0, 1, 4, 6, 30, 61, 3600])(
    "that was abandoned and lands %i s later, having sent nothing, is undone, and its call is dialed once",
    inSlowTier,
    async (seconds) => {
      const bench = createDialerBench();
      const call = aCallNow(bench);
      const late: Change[] = [];
      let fails = true;
      bench.breakLedger({
        async write(changes) {
          if (!fails || !claims(changes)) return bench.rows.write(changes);
          late.push(...changes);
          return boom();
        },
      });
      await sendEach(bench, call);
      expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 5 }]);
      fails = false;
      await bench.simulate(seconds);
      const landed = await bench.rows.write(late);
      expect(landed).toEqual([seconds < 5]);
      await bench.simulate(300);
      expect(bench.dialed).toHaveLength(1);
      expect(await stateOf(bench, call)).toBe("PLACED");
    },
  );

  it("that was abandoned for a row that waits, and lands late, is undone too", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    const late: Change[] = [];
    bench.breakLedger({
      async write(changes) {
        late.push(...changes);
        return boom();
      },
    });
    await bench.send(due(call));
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 5 }]);
    bench.repairLedger();
    expect(await bench.rows.write(late)).toEqual([true]);
    expect(await stateOf(bench, call)).toBe("DIALING");
    await bench.simulate(200);
    expect(bench.dialed).toHaveLength(1);
    expect(await stateOf(bench, call)).toBe("PLACED");
  });

  it("that was abandoned for a resend, and lands late, leaves the call UNKNOWN", async () => {
    const agent_sales = { provider: "webhook", url: "http://127.0.0.1:9/dial", idempotent: true };
    const bench = createDialerBench({ plan: { agents: { agent_sales } } });
    const call = aCallNow(bench);
    bench.answer = async () => ({ kind: "unknown", code: "http_500" });
    await sendEach(bench, call);
    await bench.deliver();
    const [late] = [await claimOf(await rowOf(bench, call))];
    await bench.rows.write([late]);
    const waits = { state: "WAITING", reason: "claim_too_old" } as const;
    const times = { dueAt: bench.now(), at: bench.now() };
    await bench.send(outcomeOf(call, "the-resend", { ...waits, ...times }));
    await bench.deliver();
    expect(await rowOf(bench, call)).toMatchObject({ state: "UNKNOWN", resent: true });

    async function claimOf(row: CallRow): Promise<Change> {
      const { route, version: seen } = row;
      const known = { call, ...hashNumber(call.request.phone_number, hashKey) };
      const write = { version: "the-resend", at: bench.now() };
      const next =
        route && applyClaim(row, { route, account: accountOf(route), newCall: known }, write);
      if (next === undefined || next === null) throw new Error("it may be resent");
      return { next, seen };
    }
  });

  it("is made only when the call is about to be dialed", async () => {
    const bench = createDialerBench({ concurrency: 2 });
    const calls = callsNow(bench, 20);
    let claimedAtOnce = 0;
    bench.answer = async () => {
      const { rows } = await bench.rows.read(calls.map(({ id }) => id));
      const dialing = [...rows.values()].filter(({ state }) => state === "DIALING");
      claimedAtOnce = Math.max(claimedAtOnce, dialing.length);
      await bench.sleep(100);
      return { kind: "placed" };
    };
    await sendEach(bench, ...calls);
    await bench.simulate(60, { consumers: 1, batchSize: 20 });
    expect(bench.dialed).toHaveLength(20);
    // Two calls are dialed, three wait behind them, and two others are settled.
    expect(claimedAtOnce).toBeLessThanOrEqual(7);
  });

  it("is not made where no time is left for it, and the call is dialed later", async () => {
    const bench = createDialerBench();
    const call = aCall();
    await sendEach(bench, call);
    // A call needs 10 s to send, 30 s to answer and 20 s to settle.
    expect(await bench.deliver(59_999)).toEqual(["ack"]);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "WAITING",
      reason: "no_capacity",
      attempt: 0,
    });
    await bench.run(20);
    expect(bench.dialed).toHaveLength(1);
  });
});

describe("the same call twice", () => {
  it("in one delivery, as a `due` and a `calls` message, is dialed once, in any order", async () => {
    for (const isDueFirst of [true, false]) {
      const bench = createDialerBench();
      const call = aCallNow(bench);
      await putIn(bench, "WAITING", call, { dueAt: bench.now() });
      const both = [due(call), message(call)];
      await bench.send(...(isDueFirst ? both : both.toReversed()));
      expect(await bench.deliver()).toEqual(["ack", "ack"]);
      expect(bench.dialed).toHaveLength(1);
    }
  });

  it("without a row, as a `due` and a `calls` message, is dialed as the latter brings it", async () => {
    for (const isDueFirst of [true, false]) {
      const bench = createDialerBench();
      const call = aCallNow(bench);
      const both = [due(call), message(call)];
      await bench.send(...(isDueFirst ? both : both.toReversed()));
      expect(await bench.deliver()).toEqual(["ack", "ack"]);
      expect(bench.dialed.map((one) => one.call)).toEqual([{ ...call, first: "request" }]);
    }
  });

  it("in one delivery is one change in its write, and both messages come again where that fails", async () => {
    const bench = createDialerBench();
    const call = aCall({ acceptedAt: 0 });
    bench.changePlan({ expireAfterHours: 0.1 });
    const written: string[] = [];
    let fails = true;
    bench.breakLedger({
      async write(changes) {
        written.push(...changes.map(({ next }) => next.id));
        return fails ? boom() : bench.rows.write(changes);
      },
    });
    await sendEach(bench, call, call);
    const again = { retryAfterSeconds: 5 };
    expect(await bench.deliver()).toEqual([again, again]);
    expect(written).toEqual([call.id]);
    fails = false;
    bench.advance(60_000);
    expect(await bench.deliver()).toEqual(["ack", "ack"]);
    expect(await stateOf(bench, call)).toBe("EXPIRED");
  });

  it("in one delivery, beside the `outcome` of an earlier claim, is settled and not dialed", async () => {
    for (const isOutcomeFirst of [true, false]) {
      const bench = createDialerBench();
      const call = aCallNow(bench);
      const row = await putIn(bench, "DIALING", call);
      const both = [outcomeOf(call, row.version, { at: bench.now() }), message(call)];
      await bench.send(...(isOutcomeFirst ? both : both.toReversed()));
      expect(await bench.deliver()).toEqual(["ack", "ack"]);
      expect(bench.dialed).toEqual([]);
      expect(await stateOf(bench, call)).toBe("PLACED");
    }
  });
});

/** Has each delivery read the call before another one is told to wait an hour with it, and decide after. */
const refuseAfterReads = (bench: Bench, call: Call) =>
  bench.breakLedger({
    async read(ids) {
      const before = await bench.rows.read(ids);
      const dueAt = bench.now() + 3_600_000;
      await putIn(bench, "WAITING", call, { reason: "http_429", dueAt });
      return before;
    },
  });

describe("a decision", () => {
  it("that comes after another's Retry-After is dropped: the row stays as the other wrote it", async () => {
    const bench = createDialerBench();
    const call = aCall();
    refuseAfterReads(bench, call);
    await sendEach(bench, call);
    expect(await bench.deliver(30_000)).toEqual(["ack"]); // no time is left, so the call would be written as waiting from now on
    expect(await rowOf(bench, call)).toMatchObject({
      reason: "http_429",
      dueAt: bench.now() + 3_600_000,
    });
    expect(bench.dialed).toEqual([]);
  });

  it("to dial that comes after another's Retry-After is dropped as well", async () => {
    const bench = createDialerBench();
    const call = aCall();
    await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    refuseAfterReads(bench, call);
    await bench.send(due(call));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "http_429" });
  });

  it("about a call accepted longer ago than the retention less a day writes nothing, with an alarm", async () => {
    const bench = createDialerBench({ plan: { retentionDays: 40 }, startAt: "2026-06-01T10:00Z" });
    const days = 86_400_000;
    const old = aCall({ acceptedAt: bench.now() - 39 * days - 1 });
    const recent = aCall({ acceptedAt: bench.now() - 39 * days });
    await sendEach(bench, old, recent);
    expect(await bench.deliver()).toEqual(["ack", "ack"]);
    expect(bench.dialed).toEqual([]);
    expect(await bench.row(old.id)).toBeUndefined();
    expect(bench.eventsOf("call.too_old")).toMatchObject([{ level: "alarm", call_id: old.id }]);
    expect(await stateOf(bench, recent)).toBe("EXPIRED");
  });
});
