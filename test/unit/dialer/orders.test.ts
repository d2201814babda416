import { describe, expect, it } from "vitest";
import { doNotCallKeyOf, doNotCallListKey } from "#shared/policy/number-entries.ts";
import type { Pausable } from "#shared/rules/pause.ts";
import { afterClaims } from "#test/support/claims.ts";
import { aRequestId } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  boom,
  callsNow,
  callTo,
  cancel,
  due,
  hashOf,
  idsDialed,
  neverCall,
  numberOf,
  pause,
  putIn,
  resume,
  rowOf,
  rowsIn,
  sendEach,
  stateOf,
  statesOf,
} from "#test/support/dialer-calls.ts";
import { removeCurrent } from "#test/support/documents.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const again = { retryAfterSeconds: 5 };

describe("an operator's cancellation", () => {
  it("ends the calls of a request that no dialer has seen yet, with their payload, and no other", async () => {
    const bench = createDialerBench();
    const [mine, other] = [callTo("agent_sales"), callTo("agent_sales")];
    await cancel(bench, { request: mine.requestId });
    await sendEach(bench, mine, other);
    await bench.deliver();
    expect(idsDialed(bench)).toEqual([other.id]);
    expect(await rowOf(bench, mine)).toMatchObject({
      state: "CANCELLED",
      reason: "operator",
      request: mine.request,
    });
    expect(bench.eventsOf("call.cancelled")).toHaveLength(1);
  });

  it("ends what an agent has been sent so far, and nothing that comes later", async () => {
    const bench = createDialerBench();
    const before = callTo("agent_sales", { acceptedAt: bench.now() });
    const later = callTo("agent_sales", { acceptedAt: bench.now() + 1 });
    await cancel(bench, { agent: "agent_sales" });
    await sendEach(bench, before, later);
    await bench.deliver();
    expect(await statesOf(bench, [before, later])).toEqual(["CANCELLED", "PLACED"]);
  });

  it(
    "on a request ends all of it, by whatever clock and however often it is accepted",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ plan: { expireAfterHours: 1 } });
      const [ahead, repeated] = [callTo("agent_sales"), callTo("agent_sales")];
      const at = bench.now();
      for (const { requestId } of [ahead, repeated]) await cancel(bench, { request: requestId });
      // The API's clock is ahead; a repeat under an Idempotency-Key, after the calls have expired, renews the time.
      await sendEach(bench, { ...ahead, acceptedAt: at + 1000 });
      await bench.run(2 * 3600);
      await sendEach(bench, { ...repeated, acceptedAt: bench.now() });
      await bench.deliver();
      expect(await statesOf(bench, [ahead, repeated])).toEqual(["CANCELLED", "CANCELLED"]);
      expect(bench.dialed).toEqual([]);
    },
  );

  it("on a request ends its redials of up to ten seconds later, as clocks differ, and none after", async () => {
    const bench = createDialerBench();
    const first = aRequestId();
    await cancel(bench, { request: first });
    const ancestors = [`call_${first}_00000`];
    const [near, later] = [10_000, 10_001].map((ms) =>
      callTo("agent_sales", { ancestors, acceptedAt: bench.now() + ms }),
    );
    if (near === undefined || later === undefined) throw new Error("two calls are made");
    await bench.run(11);
    await sendEach(bench, near, later);
    await bench.deliver();
    expect(await statesOf(bench, [near, later])).toEqual(["CANCELLED", "PLACED"]);
  });

  it("ends what waits to be sent again, once its time comes", async () => {
    const bench = createDialerBench();
    bench.answer = async () => ({ kind: "not_placed", code: "http_429" });
    const call = callTo("agent_sales");
    await sendEach(bench, call);
    await bench.deliver();
    await cancel(bench, { agent: "agent_sales" });
    await bench.run(60);
    expect(bench.dialed).toHaveLength(1);
    expect(await stateOf(bench, call)).toBe("CANCELLED");
  });

  it("reaches the calls of a delivery that is under way within five seconds", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    let cancelledAt = Infinity;
    bench.answer = async () => {
      await bench.sleep(1000);
      if (bench.dialed.length === 4) {
        await cancel(bench, { agent: "agent_sales" });
        cancelledAt = bench.now();
      }
      return { kind: "placed" };
    };
    const calls = callsNow(bench, 30);
    await sendEach(bench, ...calls);
    await bench.deliver();
    for (const { at } of bench.dialed) expect(at).toBeLessThanOrEqual(cancelledAt + 5000);
    expect(bench.dialed.length).toBeLessThanOrEqual(10);
    expect(await rowsIn(bench, "CANCELLED")).toHaveLength(30 - bench.dialed.length);
  });

  it("ends what waits for its account's pace, and what is paused", inSlowTier, async () => {
    const providers = { webhook: { callsPerSecond: 0.1 } };
    const bench = createDialerBench({ plan: { providers } });
    const calls = callsNow(bench, 20);
    const paused = callsNow(bench, 3, { agent_id: "agent_support" });
    await pause(bench, { agent: "agent_support" });
    await sendEach(bench, ...calls, ...paused);
    await bench.simulate(5);
    await cancel(bench, { agent: "agent_sales" });
    await cancel(bench, { agent: "agent_support" });
    await bench.simulate(2 * 3600);
    expect(bench.dialed.length).toBeLessThan(5);
    expect(new Set(await statesOf(bench, calls))).toEqual(new Set(["PLACED", "CANCELLED"]));
    await resume(bench, { agent: "agent_support" });
    await bench.simulate(90);
    expect(await statesOf(bench, paused)).toEqual(["CANCELLED", "CANCELLED", "CANCELLED"]);
  });

  it("of a request reaches the calls that were redialed in the stead of its calls", async () => {
    const bench = createDialerBench();
    const first = aRequestId();
    await cancel(bench, { request: first });
    const redial = callTo("agent_sales", { ancestors: [`call_${first}_00000`, "call_x_00000"] });
    await sendEach(bench, { ...redial, acceptedAt: bench.now() });
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await stateOf(bench, redial)).toBe("CANCELLED");
  });
});

describe("an operator's pause", () => {
  const plan = {
    agents: {
      agent_sales: { provider: "sales-hook", url: "http://127.0.0.1:9/dial" },
      agent_support: { provider: "webhook", url: "http://127.0.0.1:9/support" },
    },
    providers: { "sales-hook": { type: "webhook" } },
  };

  it.each<[string, Pausable]>([
    ["an agent", { agent: "agent_sales" }],
    ["an account", { account: "sales-hook" }],
  ])(
    "of %s keeps its calls waiting without a message, and no other's",
    inSlowTier,
    async (_, what) => {
      const bench = createDialerBench({ plan });
      await pause(bench, what);
      const calls = callsNow(bench, 30);
      const other = callTo("agent_support");
      await sendEach(bench, ...calls, other);
      await bench.deliver();
      expect(await stateOf(bench, other)).toBe("PLACED");
      const sent = bench.sent();
      await bench.run(600);
      expect(bench.sent()).toBe(sent);
      expect(bench.dialed).toHaveLength(1);
      expect(await rowsIn(bench, "WAITING")).toHaveLength(30);
      await resume(bench, what);
      await bench.run(70);
      expect(await statesOf(bench, calls)).toEqual(calls.map(() => "PLACED"));
      expect(bench.dialed).toHaveLength(31);
    },
  );

  it.each([10, 50, 55, 61, 90, 300])(
    "that ends after %i minutes lets its calls go within the next sweeps",
    inSlowTier,
    async (minutes) => {
      const bench = createDialerBench();
      await pause(bench, { agent: "agent_sales" });
      const calls = callsNow(bench, 5);
      await sendEach(bench, ...calls);
      await bench.simulate(minutes * 60);
      expect(bench.dialed).toEqual([]);
      await resume(bench, { agent: "agent_sales" });
      await bench.simulate(130);
      expect(bench.dialed).toHaveLength(5);
    },
  );

  it("keeps what a delivery under way has claimed from being sent", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    bench.answer = async () => {
      if (bench.dialed.length === 1) await pause(bench, { agent: "agent_sales" });
      await bench.sleep(1000);
      return { kind: "placed" };
    };
    const calls = callsNow(bench, 20);
    await sendEach(bench, ...calls);
    await bench.deliver();
    expect(bench.dialed.length).toBeLessThanOrEqual(7);
    const waiting = await rowsIn(bench, "WAITING");
    expect(waiting).toHaveLength(20 - bench.dialed.length);
    expect(waiting.some(({ reason }) => reason === "paused")).toBe(true);
  });

  it("releases its calls within their hours, and at their account's pace", async () => {
    const bench = createDialerBench({
      startAt: "2026-06-01T22:00Z",
      plan: {
        callingHours: { default: { "mon-sun": ["09:00-17:00"] } },
        providers: { webhook: { callsPerSecond: 1 } },
      },
    });
    await pause(bench, { agent: "agent_sales" });
    const call = callTo("agent_sales", { acceptedAt: bench.now() });
    await sendEach(bench, call);
    await bench.deliver();
    await resume(bench, { agent: "agent_sales" });
    await bench.run(70);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "WAITING",
      reason: "hours:callingHours.default",
    });
    expect(bench.dialed).toEqual([]);
  });

  it(
    "does not keep calls past their time: an hour later they have EXPIRED",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ plan: { expireAfterHours: 1 } });
      await pause(bench, { agent: "agent_sales" });
      const early = aCallNow(bench);
      await sendEach(bench, early);
      await bench.simulate(5400);
      const late = aCallNow(bench);
      await sendEach(bench, late);
      await bench.simulate(2 * 3600 + 70 - 5400);
      expect(await stateOf(bench, early)).toBe("EXPIRED");
      expect(await stateOf(bench, late)).toBe("WAITING");
      expect(bench.dialed).toEqual([]);
    },
  );

  it("keeps an unknown call from being sent again", async () => {
    const agents = { a: { provider: "webhook", url: "http://127.0.0.1:9/", idempotent: true } };
    const bench = createDialerBench({ plan: { agents } });
    bench.answer = async () => ({ kind: "unknown", code: "time_out" });
    const call = callTo("a");
    await sendEach(bench, call);
    await bench.deliver();
    await pause(bench, { agent: "a" });
    await bench.run(400);
    expect(bench.dialed).toHaveLength(1);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });
});

describe("the do-not-call list", () => {
  const number = "+12025550123";
  const other = (bench: Bench) => aCallNow(bench, { phone_number: "+12025550124" });

  it("ends calls to its numbers as REJECTED, with their payload, and no other", async () => {
    const bench = createDialerBench();
    await neverCall(bench, number);
    const [never, fine] = [callTo("agent_sales"), other(bench)];
    await sendEach(bench, never, fine);
    await bench.deliver();
    expect(idsDialed(bench)).toEqual([fine.id]);
    expect(await rowOf(bench, never)).toMatchObject({
      state: "REJECTED",
      reason: "do_not_call",
      request: never.request,
    });
    await removeCurrent(bench.documents, doNotCallKeyOf(hashOf(number)));
    const later = callTo("agent_sales");
    await sendEach(bench, later);
    await bench.deliver();
    expect(await stateOf(bench, later)).toBe("PLACED");
  });

  it("ends a call that waits, once its time comes", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    await neverCall(bench, number);
    await bench.send(due(call));
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await stateOf(bench, call)).toBe("REJECTED");
  });

  it("counts within 5 s for the calls of a delivery that is under way", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    const startedAt = bench.now();
    bench.answer = async () => {
      if (bench.dialed.length === 1) await neverCall(bench, number);
      await bench.sleep(2501);
      return { kind: "placed" };
    };
    const first = aCallNow(bench, { phone_number: "+12025550124" }, { acceptedAt: 1 });
    const listed = Array.from({ length: 4 }, (_, n) =>
      callTo("agent_sales", { acceptedAt: 2 + n }),
    );
    await sendEach(bench, first, ...listed);
    await bench.deliver();
    // The orders are not read again 2.5 s after the read, but 5 s after it.
    expect(bench.dialed.map(({ call, at }) => [call.id, at - startedAt])).toEqual([
      [first.id, 0],
      [listed[0]?.id, 2501],
    ]);
    expect(await statesOf(bench, listed)).toEqual(["PLACED", "REJECTED", "REJECTED", "REJECTED"]);
  });

  it("is read in one go for a delivery", async () => {
    const bench = createDialerBench();
    await neverCall(bench, numberOf(3));
    const reads: number[] = [];
    bench.breakDocuments({
      read(keys) {
        const count = keys.filter(({ kind }) => kind === "do-not-call").length;
        if (count > 0) reads.push(count);
        return bench.documents.read(keys);
      },
    });
    const calls = callsNow(bench, 5);
    await sendEach(bench, ...calls);
    await bench.deliver();
    expect(reads).toEqual([5]); // the document of the list is of another kind
    expect((await statesOf(bench, calls)).filter((state) => state === "REJECTED")).toHaveLength(1);
  });

  it(
    "lets nobody be dialed where it was made under another HASH_KEY, or cannot be read",
    inSlowTier,
    async () => {
      const bench = createDialerBench();
      await neverCall(bench, number, "a0".repeat(32));
      const call = other(bench);
      await sendEach(bench, call);
      expect(await bench.deliver()).toEqual([again]);
      expect(bench.dialed).toEqual([]);
      expect(bench.eventsOf("hash_key.missing")).toMatchObject([{ level: "alarm", count: 1 }]);
      expect(bench.eventsOf("ledger.unreachable")).toEqual([]);
      bench.breakDocuments({
        read: (keys) =>
          keys.some(({ kind }) => kind === "do-not-call") ? boom() : bench.documents.read(keys),
      });
      await bench.run(200);
      expect(bench.dialed).toEqual([]);
      bench.repairLedger();
      await removeCurrent(bench.documents, doNotCallListKey);
      await bench.run(600);
      expect(await stateOf(bench, call)).toBe("PLACED");
    },
  );

  it("costs an account no probe of its breaker", async () => {
    const bench = createDialerBench({ plan: { providers: { webhook: { callsPerSecond: 1 } } } });
    await neverCall(bench, number);
    let repaired = false;
    bench.answer = async () =>
      repaired ? { kind: "placed" } : { kind: "account_refused", code: "http_401" };
    const first = other(bench);
    await sendEach(bench, first);
    await bench.deliver();
    expect(bench.eventsOf("breaker.opened")).toHaveLength(1);
    repaired = true;
    const at = (n: number) => ({ acceptedAt: bench.now() + n });
    const listed = Array.from({ length: 20 }, (_, n) => callTo("agent_sales", at(1 + n)));
    const behind = Array.from({ length: 5 }, (_, n) =>
      aCallNow(bench, { phone_number: numberOf(n) }, at(100 + n)),
    );
    await sendEach(bench, ...listed, ...behind);
    await bench.simulate(600);
    expect(await statesOf(bench, listed)).toEqual(listed.map(() => "REJECTED"));
    expect(await statesOf(bench, [first, ...behind])).toEqual(
      [first, ...behind].map(() => "PLACED"),
    );
  });
});

describe("an order that cannot be read under the claim", () => {
  it("sends nothing: the call waits in its place, and is dialed once it can be read", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    let reads = 0;
    afterClaims(bench, () => bench.advance(5001)); // the documents read are too old now
    bench.breakDocuments({
      read: (keys) =>
        keys.some(({ kind }) => kind === "pause") && reads++ > 0
          ? boom()
          : bench.documents.read(keys),
    });
    await sendEach(bench, call);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed).toEqual([]);
    expect(await stateOf(bench, call)).toBe("WAITING");
    bench.repairLedger();
    await bench.run(120);
    expect(idsDialed(bench)).toEqual([call.id]);
  });
});
