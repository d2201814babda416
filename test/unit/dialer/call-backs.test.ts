import { describe, expect, it } from "vitest";
import { restoreKey } from "#shared/policy/ledger-epoch.ts";
import { eraseRows } from "#shared/policy/erase-number.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { toTryId } from "#shared/calls/tries.ts";
import type { ReadResult } from "#shared/providers/provider.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  dial,
  hourMs,
  inMs,
  rowIfAny,
  rule,
  startAt,
  told,
} from "#test/support/call-backs-bench.ts";
import {
  type Bench,
  callsNow,
  hashOf,
  pause,
  putDocument,
  rowOf,
  sendEach,
} from "#test/support/dialer-calls.ts";
import { busy, completed, live, minuteMs, pollAfter } from "#test/support/results-bench.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

const dayMs = 24 * hourMs;
const retry = { attempts: 3, within: "24h", after: { busy: "15m", voicemail: "3h" } };
const voicemail = { ...completed, status: "voicemail", human: false } as const;

describe("a callee who asked to be called back", () => {
  it("is called once more, at that time", async () => {
    const { bench, call, report, next } = await dial();
    const wished = inMs(bench, 2 * dayMs);
    await report({ wished });
    expect(await rowOf(bench, call)).toMatchObject({ request: null, dueAt: null, lane: null });
    expect(await rowOf(bench, next)).toMatchObject({
      state: "WAITING",
      reason: "call_back",
      dueAt: Date.parse(wished),
      ancestors: [call.id],
      tries: { number: 2, budget: 2, callBacks: { made: 1 } },
    });
    const promise = { at: wished, call_id: next.id, by: "service", reason: null };
    expect(told(bench, "call.ended")).toMatchObject([{ call_back: promise, tries_left: 0 }]);
    expect(told(bench, "call.call_back")).toMatchObject([{ id: call.id, call_back: promise }]);
    await bench.simulate(2 * 24 * 3600 + 60, { sweepSeconds: 3600 });
    expect(bench.dialed.map((one) => one.call.id)).toEqual([call.id, next.id]);
    expect(bench.dialed[1]?.at).toBeGreaterThanOrEqual(Date.parse(wished));
    // Nothing of the wish's text is stored.
    expect(JSON.stringify(await rowOf(bench, call))).not.toContain(wished);
  });

  it("is told why not, and the result and its opt-out stand", async () => {
    const { bench, call, report, next } = await dial();
    await report({ wished: { at: "any" }, optedOut: true });
    const row = await rowOf(bench, call);
    expect(row).toMatchObject({ result: { status: "completed" }, optedOut: true, request: null });
    expect(told(bench, "call.call_back")).toMatchObject([
      { call_back: { at: null, call_id: null, by: "nobody", reason: "opted_out" } },
    ]);
    expect(await rowIfAny(bench, next)).toBeUndefined();
  });

  it("is promised a call-back only with the first status that ends the call", async () => {
    const during = await dial();
    await during.report({ result: live, wished: inMs(during.bench, hourMs) });
    expect(await rowOf(during.bench, during.call)).not.toHaveProperty("callBack");
    await during.report({ wished: inMs(during.bench, 2 * hourMs) });
    expect(await rowOf(during.bench, during.next)).toMatchObject({ reason: "call_back" });
    const after = await dial();
    await after.report({});
    await after.report({ wished: inMs(after.bench, hourMs) });
    expect(told(after.bench, "call.call_back")).toMatchObject([
      { call_back: { by: "nobody", reason: "too_late" } },
    ]);
    expect(await rowIfAny(after.bench, after.next)).toBeUndefined();
  });

  it("is promised no call-back if the call's result stays unknown", async () => {
    const { bench, call, report, next } = await dial();
    await report({ result: { ...completed, status: "unknown" }, wished: inMs(bench, hourMs) });
    expect(await rowOf(bench, call)).toMatchObject({ callBack: { reason: "too_late" } });
    expect(await rowOf(bench, call)).not.toHaveProperty("next");
    expect(await rowIfAny(bench, next)).toBeUndefined();
  });

  it("is not called back if the number is on the do-not-call list by then", async () => {
    const { bench, report, next } = await dial();
    await report({ wished: inMs(bench, 2 * hourMs) });
    await report({ optedOut: true });
    await bench.simulate(3 * 3600, { sweepSeconds: 600 });
    expect(bench.dialed).toHaveLength(1);
    expect(await rowOf(bench, next)).toMatchObject({ reason: "do_not_call" });
  });

  it("is called back as first wished, whatever wishes follow", inSlowTier, async () => {
    const { bench, call, report, next } = await dial();
    const first = bench.now() + 5 * hourMs;
    for (const hours of [5, 6, 1, 48, 5]) {
      await report({ wished: new Date(bench.now() + hours * hourMs).toISOString() });
    }
    expect(await rowOf(bench, next)).toMatchObject({ dueAt: first });
    expect(told(bench, "call.call_back")).toHaveLength(1);
    await bench.simulate(50 * 3600, { sweepSeconds: 3600 });
    expect(bench.dialed.map((one) => one.call.id)).toEqual([call.id, next.id]);
  });

  it("may ask again in the call-back, as often as the plan says", inSlowTier, async () => {
    const { bench, call, report, next } = await dial();
    let { id } = call;
    for (const made of [1, 2]) {
      const { claims } = await rowOf(bench, { id });
      await report({ wished: inMs(bench, hourMs) }, claims[0], id);
      await bench.simulate(3700, { sweepSeconds: 600 });
      id = toTryId(call.id, made + 1);
      expect(await rowOf(bench, { id })).toMatchObject({ state: "PLACED" });
    }
    const { claims } = await rowOf(bench, { id });
    await report({ wished: inMs(bench, hourMs) }, claims[0], id);
    expect(bench.dialed).toHaveLength(3);
    expect(await rowOf(bench, { id })).toMatchObject({ callBack: { reason: "too_many" } });
    expect(await rowOf(bench, next)).toMatchObject({ ancestors: [call.id] });
  });

  it("is not tried again after a call-back that nobody answered", async () => {
    const { bench, call, report, next } = await dial({ agent: { retry } });
    await report({ wished: inMs(bench, hourMs) });
    await bench.simulate(3700, { sweepSeconds: 600 });
    const { claims } = await rowOf(bench, next);
    await report({ result: busy }, claims[0], next.id);
    expect(await rowOf(bench, next)).toMatchObject({ request: null, dueAt: null });
    expect(await rowIfAny(bench, { id: toTryId(call.id, 3) })).toBeUndefined();
  });

  it.each([5, 1].slice(0, perTier({ quick: 1, long: 2 })))(
    "has a waiting retry become the call-back, in %s hours",
    async (hours) => {
      const { bench, call, report, next } = await dial({ agent: { retry } });
      await report({ result: voicemail });
      const before = await rowOf(bench, next);
      expect(before).toMatchObject({ state: "WAITING", reason: "retry" });
      const wished = inMs(bench, hours * hourMs);
      await report({ result: voicemail, wished });
      const at = Date.parse(wished);
      expect(await rowOf(bench, next)).toMatchObject({
        state: "WAITING",
        reason: "call_back",
        dueAt: at,
        tries: { number: 2, budget: 2, promisedAt: at, until: at + 2 * hourMs },
      });
      expect(told(bench, "call.call_back")).toMatchObject([
        { call_back: { at: wished, call_id: next.id, by: "service" } },
      ]);
      await report({ result: voicemail, wished: inMs(bench, hourMs / 2) });
      expect(await rowOf(bench, next)).toMatchObject({ dueAt: at });
      await bench.simulate(6 * 3600, { sweepSeconds: 600 });
      expect(bench.dialed.map((one) => one.call.id)).toEqual([call.id, next.id]);
      expect(bench.dialed[1]?.at).toBeGreaterThanOrEqual(at);
    },
  );

  it(
    "is too late once the retry is under way, and a wrong wish leaves it as it is",
    inSlowTier,
    async () => {
      const { bench, report, next, call } = await dial({ agent: { retry } });
      await report({ result: busy });
      const before = await rowOf(bench, next);
      await bench.simulate(17 * 60, { sweepSeconds: 60 });
      expect(bench.dialed).toHaveLength(2);
      await report({ result: busy, wished: inMs(bench, hourMs) });
      expect(await rowOf(bench, call)).toMatchObject({ callBack: { reason: "too_late" } });
      expect((await rowOf(bench, next)).tries).toEqual(before.tries);
      await bench.simulate(2 * 3600, { sweepSeconds: 60 });
      expect(bench.dialed).toHaveLength(2);
    },
  );

  it(
    "is dialed two hours after the time at the latest, else told that it expired",
    inSlowTier,
    async () => {
      const { bench, report, next } = await dial();
      const wished = inMs(bench, 3 * hourMs);
      await report({ wished });
      await pause(bench, { agent: "agent_sales" });
      await bench.simulate(5 * 3600 - 300, { sweepSeconds: 300 });
      expect(await rowOf(bench, next)).toMatchObject({ state: "WAITING" });
      // Backlogs of paused calls are visited once an hour.
      await bench.simulate(3600 + 600, { sweepSeconds: 300 });
      await bench.deliverEvents();
      expect(bench.dialed).toHaveLength(1);
      expect(await rowOf(bench, next)).toMatchObject({ state: "EXPIRED", reason: "expired" });
      expect(told(bench, "call.expired")).toMatchObject([{ id: next.id, try: 2 }]);
    },
  );

  it("of an agent without the setting is not called, and the callback is as it was", async () => {
    const { bench, call, next, report } = await dial({ agent: { callBacks: undefined, retry } });
    await report({ wished: inMs(bench, hourMs) });
    expect(await rowOf(bench, call)).not.toHaveProperty("callBack");
    expect(await rowIfAny(bench, next)).toBeUndefined();
  });

  it("has the request finished with a promise, which it does not wait for", async () => {
    const { bench, report } = await dial();
    await report({ wished: inMs(bench, 5 * dayMs) });
    for (let n = 0; n < 2; n++) {
      await bench.upkeep();
      await bench.deliverEvents();
    }
    expect(told(bench, "request.finished")).toMatchObject([
      { total: 1, counts: { by_state: { PLACED: 1 }, by_result: { completed: 1 }, promised: 1 } },
    ]);
  });
});

describe("a wish in a provider's analysis", () => {
  const vapi = { provider: "vapi", agent: "a", from: "f" };
  const analyzed = (wished?: string): ReadResult => ({
    ...completed,
    analysis: { ...(wished === undefined ? {} : { wished }), isAnalyzed: true },
  });
  const pending: ReadResult = { ...completed, analysis: { isAnalyzed: false } };

  it("is read after the call's end, and the number is kept so long", async () => {
    const { bench, call, next } = await dial({}, vapi);
    bench.record = async () => pending;
    await pollAfter(bench, 2);
    const ended = await rowOf(bench, call);
    expect(ended).toMatchObject({ result: { status: "completed" }, request: {} });
    expect(ended.result).not.toHaveProperty("analysis");
    const wished = inMs(bench, dayMs);
    bench.record = async () => analyzed(wished);
    await pollAfter(bench, 2);
    await pollAfter(bench, 1);
    expect(await rowOf(bench, call)).toMatchObject({ request: null, dueAt: null });
    expect(await rowOf(bench, next)).toMatchObject({ dueAt: Date.parse(wished) });
    expect(told(bench, "call.ended")).toHaveLength(1);
    expect(told(bench, "call.call_back")).toHaveLength(1);
    expect(bench.events.filter(({ event }) => event === "call.result")).toHaveLength(1);
  });

  it.each([
    ["has none", async () => analyzed(), 2],
    ["never comes", async () => pending, 60],
    ["cannot be read", async () => Promise.reject(new Error("down")), 60],
  ])("ends the wait where the analysis %s", inSlowTier, async (_, record, minutes) => {
    const { bench, call } = await dial({}, vapi);
    bench.record = async () => pending;
    await pollAfter(bench, 2);
    const { result } = await rowOf(bench, call);
    bench.record = record;
    while ((await rowOf(bench, call)).request !== null) {
      expect(bench.now() - (result?.readAt ?? 0)).toBeLessThan((minutes + 1) * minuteMs);
      await pollAfter(bench, 1);
    }
    expect(await rowOf(bench, call)).toMatchObject({ dueAt: null, lane: null });
    expect(await rowOf(bench, call)).not.toHaveProperty("callBack");
  });

  it("is not waited for once the number is erased", async () => {
    const { bench, call } = await dial({}, vapi);
    bench.record = async () => pending;
    await pollAfter(bench, 2);
    const deps = { ...bench.deps, documents: bench.documents, ledger: bench.rows };
    const hash = hashOf(call.request.phone_number);
    await eraseRows({ hash, at: bench.now(), by: "operator" }, deps);
    expect(await rowOf(bench, call)).toMatchObject({ request: null, erasedAt: bench.now() });
    await pollAfter(bench, 2);
    expect(await rowOf(bench, call)).toMatchObject({ dueAt: null, lane: null });
  });

  it("keeps no number for longer where many wait and the provider is down", async () => {
    const agents = { agent_sales: { ...vapi, callBacks: rule } };
    const bench = createDialerBench({ startAt, plan: { agents, results: {} } });
    bench.answer = async ({ id }) => ({ kind: "placed", providerCallId: `ring_${id}` });
    const calls = callsNow(bench, 6);
    for (const call of calls) await sendEach(bench, call);
    await bench.simulate(20, { firstSweepSeconds: 1000 });
    bench.record = async () => pending;
    await pollAfter(bench, 2);
    for (const call of calls) expect((await rowOf(bench, call)).request).not.toBeNull();
    bench.record = async () => Promise.reject(new Error("down"));
    await pollAfter(bench, 61);
    for (const call of calls) {
      expect(await rowOf(bench, call)).toMatchObject({ request: null, dueAt: null });
    }
  });

  it("is read after the results that are due", async () => {
    const agents = { agent_sales: { ...vapi, callBacks: rule } };
    const bench = createDialerBench({ startAt, plan: { agents, results: {} } });
    bench.answer = async ({ id }) => ({ kind: "placed", providerCallId: `ring_${id}` });
    const [ended, other] = callsNow(bench, 2);
    if (ended === undefined || other === undefined) throw new Error("there are no calls");
    const read: string[] = [];
    bench.record = async ({ id }) => {
      read.push(id);
      return pending;
    };
    await sendEach(bench, ended);
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    await pollAfter(bench, 2);
    await sendEach(bench, other);
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    await pollAfter(bench, 3);
    expect(read).toEqual([ended.id, other.id, ended.id]);
  });

  it("makes one call where two processes read it at once", inSlowTier, async () => {
    const { bench, call, next } = await dial({}, vapi);
    bench.record = async () => pending;
    await pollAfter(bench, 2);
    const wished = inMs(bench, hourMs);
    const later = inMs(bench, 2 * hourMs);
    let reads = 0;
    bench.record = async () => analyzed(reads++ % 2 === 0 ? wished : later);
    bench.advance(2 * minuteMs);
    const of = { kind: "callback", account: "vapi", call: { id: call.id, claim: "" } } as const;
    const { claims } = await rowOf(bench, call);
    const claim = claims[0] ?? "";
    await Promise.all([
      bench.eventsQueue.send({ ...of, call: { id: call.id, claim } }),
      bench.eventsQueue.send({ ...of, call: { id: call.id, claim } }),
      bench.sweep(),
    ]);
    await bench.deliverEvents();
    const row = await rowOf(bench, call);
    expect(row.callBack?.at).toBe(row.next?.dueAt);
    expect(await rowOf(bench, next)).toMatchObject({ dueAt: row.callBack?.at });
    await bench.simulate(3 * 3600, { sweepSeconds: 600 });
    expect(bench.dialed).toHaveLength(2);
  });

  it("is heard though it comes with the finding that a machine answered", async () => {
    const { bench, call, next } = await dial({}, vapi);
    bench.record = async () => pending;
    await pollAfter(bench, 2);
    const wished = inMs(bench, dayMs);
    bench.record = async () => ({ ...analyzed(wished), status: "voicemail", human: false });
    await pollAfter(bench, 2);
    const row = await rowOf(bench, call);
    expect(row).toMatchObject({
      result: { status: "completed" },
      callBack: { at: Date.parse(wished) },
    });
    expect(await rowOf(bench, next)).toMatchObject({ state: "WAITING", reason: "call_back" });
    expect(bench.eventsOf("result.contradicted")).toEqual([]);
  });

  it("promises nothing if the call's end is contradicted", async () => {
    const { bench, call, next } = await dial({}, vapi);
    bench.record = async () => pending;
    await pollAfter(bench, 2);
    bench.record = async () => ({ ...analyzed(inMs(bench, hourMs)), status: "busy" });
    await pollAfter(bench, 2);
    expect(await rowOf(bench, call)).toMatchObject({
      callBack: { reason: "too_late" },
      request: null,
    });
    expect(await rowIfAny(bench, next)).toBeUndefined();
  });
});

describe("after a restore of the ledger", () => {
  /** Declares the ledger restored to an hour ago, and has the sweeps go through it. */
  async function restore(bench: Bench) {
    const at = bench.now() - hourMs;
    const value = { state: "confirmed", epoch: 1_000_000, at, by: "ops" } as const;
    await putDocument(bench, restoreKey, suspendedAt(bench.now(), value));
    for (let n = 0; n < 5; n++) {
      await bench.sweep();
      bench.advance(minuteMs);
    }
  }

  it(
    "a promised call whose time is later waits on, and one whose time was lost does not",
    inSlowTier,
    async () => {
      for (const hours of [4, 2]) {
        const { bench, report, next } = await dial();
        await report({ wished: inMs(bench, hours * hourMs) });
        bench.advance(3 * hourMs);
        await restore(bench);
        await bench.simulate(2 * 3600, { sweepSeconds: 300 });
        expect(bench.dialed).toHaveLength(hours === 4 ? 2 : 1);
        const { state } = await rowOf(bench, next);
        expect(state).toBe(hours === 4 ? "PLACED" : "NEEDS_REVIEW");
      }
    },
  );

  it("a retry that a lost wish may have brought forward is not dialed", inSlowTier, async () => {
    const late = { ...retry, after: { ...retry.after, busy: "20h" } };
    for (const isAsked of [true, false]) {
      const callBacks = isAsked ? rule : undefined;
      const { bench, report, next } = await dial({ agent: { retry: late, callBacks } });
      await report({ result: busy });
      expect(await rowOf(bench, next)).toMatchObject({ state: "WAITING", reason: "retry" });
      bench.advance(3 * hourMs);
      await restore(bench);
      await bench.simulate(18 * 3600, { sweepSeconds: 1800 });
      expect(bench.dialed).toHaveLength(isAsked ? 1 : 2);
      expect((await rowOf(bench, next)).state).toBe(isAsked ? "NEEDS_REVIEW" : "PLACED");
    }
  });

  it(
    "a wish that is read again promises nothing that would be dialed unseen",
    inSlowTier,
    async () => {
      const { bench, report, next } = await dial();
      const wished = inMs(bench, 30 * hourMs);
      bench.advance(3 * hourMs);
      await restore(bench);
      await report({ wished });
      expect(await rowOf(bench, next)).toMatchObject({ dueAt: Date.parse(wished) });
      await bench.simulate(30 * 3600, { sweepSeconds: 3600 });
      expect(bench.dialed).toHaveLength(1);
      expect((await rowOf(bench, next)).state).toBe("NEEDS_REVIEW");
    },
  );

  it.each(["before", "after"])(
    "a retry is not dialed for a wish that is read again %s the sweeps",
    inSlowTier,
    async (when) => {
      const late = { ...retry, after: { ...retry.after, voicemail: "20h" } };
      const { bench, report, next } = await dial({ agent: { retry: late } });
      await report({ result: voicemail });
      // Its lost promise may have been kept already.
      bench.advance(2 * hourMs);
      const wish = () => report({ result: voicemail, wished: inMs(bench, 10 * minuteMs) });
      if (when === "before") await wish();
      await restore(bench);
      if (when === "after") await wish();
      expect(await rowOf(bench, next)).toMatchObject({ state: "WAITING", reason: "call_back" });
      await bench.simulate(3 * 3600, { sweepSeconds: 600 });
      expect(bench.dialed).toHaveLength(1);
      expect((await rowOf(bench, next)).state).toBe("NEEDS_REVIEW");
    },
  );
});
