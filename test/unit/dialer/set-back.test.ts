import { describe, expect, it } from "vitest";
import { sweepKey } from "#shared/policy/ledger-epoch.ts";
import type { Change } from "#shared/ports/ledger.ts";
import { afterClaims } from "#test/support/claims.ts";
import { sweptAt } from "#test/support/document-values.ts";
import { account, createBreakersBench, openBreaker, putDue } from "#test/support/breakers-bench.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  boom,
  callsNow,
  dispatchOf,
  due,
  idsDialed,
  pause,
  putDocument,
  putIn,
  rowOf,
  sendEach,
  sendRequest,
  stateOf,
  statesOf,
} from "#test/support/dialer-calls.ts";
import { firstOf } from "#test/support/first-of.ts";

const startAt = "2026-11-18T12:00:00Z";
const minute = 60_000;
const claims = ({ next }: Change) => next.state === "DIALING";

describe("a message of several calls", () => {
  it("comes again where one of them could not be claimed, though another was dialed", async () => {
    const bench = createDialerBench();
    let fails = true;
    bench.breakLedger({
      async write(changes) {
        const isSecond = (one: Change) => claims(one) && one.next.id.endsWith("_00001");
        const written = await bench.rows.write(changes.filter((one) => !fails || !isSecond(one)));
        return fails && changes.some(isSecond) ? boom() : written;
      },
    });
    const calls = await sendRequest(bench, 2);
    const [first, second] = calls;
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 5 }]);
    expect(idsDialed(bench)).toEqual([first?.id]);
    fails = false;
    await bench.run(120);
    expect(idsDialed(bench)).toEqual([first?.id, second?.id]);
    expect(await statesOf(bench, calls)).toEqual(["PLACED", "PLACED"]);
  });
});

describe("a clock that is set back", () => {
  /** Delivers a call under whose claim the clock moves by so much, as the last thing before its request. */
  async function movedUnderClaim(byMs: number) {
    const bench = createBreakersBench();
    const call = firstOf(await putDue(bench, 1));
    await openBreaker(bench, account, { probeAt: bench.now() });
    let isMoved = false;
    bench.breakDocuments({
      async write(changes) {
        const written = await bench.documents.write(changes);
        // The probe is taken under the claim.
        if (changes[0]?.next.kind === "breaker" && !isMoved) bench.advance(byMs);
        isMoved = true;
        return written;
      },
    });
    await bench.send(dispatchOf([call], "vapi"));
    await bench.deliver();
    return { bench, call };
  }

  it.each([-1_500, -3_600_000])(
    "by %i ms under a claim leaves its age unknown, and has nobody dialed under it",
    async (byMs) => {
      const { bench, call } = await movedUnderClaim(byMs);
      expect(bench.dialed).toEqual([]);
      expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "claim_too_old" });
    },
  );

  it.each([-900, 4_000])("or moves by %i ms under a claim is dialed by it", async (byMs) => {
    const { bench, call } = await movedUnderClaim(byMs);
    expect(idsDialed(bench)).toEqual([call.id]);
  });

  it("has orders read again, as the age of those that were read is unknown", async () => {
    const bench = createDialerBench({ startAt });
    afterClaims(bench, async () => {
      await pause(bench, { agent: "agent_sales" });
      bench.advance(-minute);
    });
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "paused" });
  });
});

describe("orders that were read for a claim", () => {
  it.each([
    [4_900, "PLACED"],
    [5_100, "WAITING"],
  ])("%i ms before the request hold, or are read again: %s", async (byMs, state) => {
    const bench = createDialerBench({ startAt });
    afterClaims(bench, async () => {
      await pause(bench, { agent: "agent_sales" });
      bench.advance(byMs);
    });
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    expect(await stateOf(bench, call)).toBe(state);
  });
});

describe("orders that could not be read", () => {
  it("before a claim are read again under it", async () => {
    const bench = createDialerBench({ startAt });
    let reads = 0;
    bench.breakLedger({
      async read(ids) {
        bench.advance(1_000);
        return bench.rows.read(ids);
      },
    });
    bench.breakDocuments({
      read: async (keys) =>
        keys.some(({ kind }) => kind === "pause") && ++reads === 2
          ? boom()
          : bench.documents.read(keys),
    });
    const call = aCallNow(bench);
    // The delivery's own orders are too old when the call is due.
    await putIn(bench, "WAITING", call, { dueAt: bench.now() + 5_500 });
    await bench.send(due(call));
    await bench.deliver();
    expect(reads).toBe(3);
    expect(idsDialed(bench)).toEqual([call.id]);
  });
});

describe("the epoch in a process that has just begun", () => {
  const putEpoch = (bench: Bench, epoch: number) =>
    putDocument(bench, sweepKey, sweptAt(bench.now(), { epoch }));
  async function deliverOne(bench: Bench) {
    const call = firstOf(callsNow(bench, 1));
    await sendEach(bench, call);
    await bench.deliver();
    return stateOf(bench, call);
  }

  it("holds every call while it cannot be read, and is read again by the next delivery", async () => {
    const bench = createDialerBench({ startAt });
    const { epochStore } = bench.deps;
    bench.deps.epochStore = { ...epochStore, read: boom };
    expect(await deliverOne(bench)).toBe("WAITING");
    expect(await deliverOne(bench)).toBe("WAITING");
    bench.deps.epochStore = epochStore;
    bench.advance(1_000); // sooner than a process that knows an epoch reads it
    expect(await deliverOne(bench)).toBe("PLACED");
  });

  it("may be one ahead of the ledger's as it was read before, and no more", async () => {
    for (const [ledger, state] of [
      [8, "PLACED"],
      [7, "WAITING"],
    ] as const) {
      const bench = createDialerBench({ startAt });
      await bench.deps.epochStore.write(9, 0);
      await putEpoch(bench, ledger);
      expect(await deliverOne(bench)).toBe(state);
    }
  });

  it("is remembered: a ledger that falls behind it by one has gone back", async () => {
    const bench = createDialerBench({ startAt });
    await bench.deps.epochStore.write(9, 0);
    await putEpoch(bench, 9);
    expect(await deliverOne(bench)).toBe("PLACED");
    await putEpoch(bench, 8);
    expect(await deliverOne(bench)).toBe("WAITING");
  });

  it("is not lowered by an object store that shows an older one", async () => {
    const bench = createDialerBench({ startAt });
    const { epochStore } = bench.deps;
    bench.deps.epochStore = { ...epochStore, read: async () => 9 };
    await putEpoch(bench, 9);
    expect(await deliverOne(bench)).toBe("PLACED");
    bench.deps.epochStore = { ...epochStore, read: async () => 5 };
    await putEpoch(bench, 7);
    bench.advance(2 * minute);
    expect(await deliverOne(bench)).toBe("WAITING");
    expect(await deliverOne(bench)).toBe("WAITING");
  });
});
