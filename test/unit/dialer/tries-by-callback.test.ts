import { readRows } from "#test/support/reads.ts";
import { describe, expect, it } from "vitest";
import type { CallResult } from "#shared/calls/call-result.ts";
import { toTryId } from "#shared/calls/tries.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { aCallNow, idsDialed, rowOf, sendEach, webhook } from "#test/support/dialer-calls.ts";
import { busy, completed, minuteMs, nothing } from "#test/support/results-bench.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const signed = { body: "{}", headers: {}, receivedAt: 1 };
const retry = { attempts: 3, within: "24h", after: { busy: "15m" } };

/** Dials a call of a webhook whose signed callbacks tell that it was busy. */
async function dial(isKnown: boolean) {
  const agents = { agent_sales: { ...webhook, retry } };
  const bench = createDialerBench({ plan: { agents, results: { waitMinutes: 30 } } });
  bench.told = async () => ({ kind: "reported", result: busy });
  if (!isKnown) bench.answer = async () => ({ kind: "unknown", code: "time_out" });
  const call = aCallNow(bench);
  await sendEach(bench, call);
  await bench.deliver();
  const row = await rowOf(bench, call);
  expect(row.state).toBe(isKnown ? "PLACED" : "UNKNOWN");
  const callBack = async () => {
    const [claim = ""] = row.claims;
    const of = { kind: "callback", account: "webhook", signed } as const;
    await bench.eventsQueue.send({ ...of, call: { id: call.id, claim } });
    await bench.deliverEvents();
  };
  return { bench, call, callBack, second: { id: toTryId(call.id, 2) } };
}

it.each([true, false])(
  "a signed callback has a call tried again, whose placement was known: %s",
  inSlowTier,
  async (isKnown) => {
    const { bench, call, callBack, second } = await dial(isKnown);
    await callBack();
    expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", request: null, dueAt: null });
    expect(await rowOf(bench, second)).toMatchObject({ state: "WAITING", reason: "retry" });
    await callBack();
    bench.answer = async () => ({ kind: "placed" });
    await bench.simulate(17 * 60);
    expect(bench.dialed.map((one) => one.call.id)).toEqual([call.id, second.id]);
  },
);

it("a callback after the wait for it is over has no call tried again, as its number is erased", async () => {
  const { bench, call, callBack, second } = await dial(true);
  bench.advance(30 * minuteMs);
  await bench.sweep();
  await bench.deliverEvents();
  expect(await rowOf(bench, call)).toMatchObject({ result: { status: "unknown" }, request: null });
  await callBack();
  const row = await rowOf(bench, call);
  expect([row.result?.status, row.next]).toEqual(["busy", undefined]);
  expect((await readRows(bench.rows, [second.id])).size).toBe(0);
});

describe("a call that rang under a claim whose own answer said otherwise, and was dialed again", () => {
  /** Places a call at the second request, and returns its two claims and what tells the result of one. */
  async function dialTwice(more: object = {}) {
    const agents = { agent_sales: { ...webhook, retry, ...more } };
    const bench = createDialerBench({ plan: { agents, results: { waitMinutes: 30 } } });
    bench.answer = async () =>
      bench.dialed.length === 1 ? { kind: "not_placed", code: "http_503" } : { kind: "placed" };
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.simulate(30);
    const { state, released = [], claims } = await rowOf(bench, call);
    expect([state, released.length, claims.length]).toEqual(["PLACED", 1, 1]);
    const tell = async (
      [claim = ""]: string[],
      result: CallResult,
      { wished, id = call.id }: { wished?: string; id?: string } = {},
    ) => {
      bench.told = async () => ({ kind: "reported", result, wished });
      const of = { kind: "callback", account: "webhook", signed } as const;
      await bench.eventsQueue.send({ ...of, call: { id, claim } });
      await bench.deliverEvents();
    };
    return { bench, call, second: { id: toTryId(call.id, 2) }, released, claims, tell };
  }

  it("is not tried again, though the retry waits", async () => {
    const { bench, call, second, released, claims, tell } = await dialTwice();
    await tell(claims, busy);
    expect(await rowOf(bench, second)).toMatchObject({ state: "WAITING", reason: "retry" });
    for (let times = 0; times < 2; times++) await tell(released, completed);
    const cancelled = { state: "CANCELLED", reason: "placed_before" };
    expect(await rowOf(bench, second)).toMatchObject(cancelled);
    bench.advance(15 * minuteMs);
    await bench.simulate(60);
    expect(idsDialed(bench)).toEqual([call.id, call.id]);
    expect(bench.eventsOf("try.not_cancelled")).toEqual([]);
  });

  it("is not tried again, though its result is not known yet", async () => {
    const { bench, call, second, released, claims, tell } = await dialTwice();
    await tell(released, completed);
    await tell(claims, busy);
    const row = await rowOf(bench, call);
    expect([row.result?.status, row.next, row.request]).toEqual(["busy", undefined, null]);
    expect((await readRows(bench.rows, [second.id])).size).toBe(0);
    expect(bench.eventsOf("result.contradicted")).toEqual([]);
  });

  it.each(["failed", "busy", "no_answer"] as const)(
    "is tried again where nobody answered that phone: %s",
    async (status) => {
      const { bench, second, released, claims, tell } = await dialTwice();
      await tell(claims, busy);
      await tell(released, { ...nothing, status });
      expect(await rowOf(bench, second)).toMatchObject({ state: "WAITING", reason: "retry" });
    },
  );

  it.each(["voicemail", "declined"] as const)(
    "is not tried again where that phone was answered or declined: %s",
    async (status) => {
      const { bench, second, released, claims, tell } = await dialTwice();
      await tell(claims, busy);
      await tell(released, { ...nothing, status });
      expect(await rowOf(bench, second)).toMatchObject({ state: "CANCELLED" });
    },
  );

  it("has one result where its receiver ignores repeated requests, and is tried again by it", async () => {
    const { bench, call, second, released, tell } = await dialTwice({ idempotent: true });
    await tell(released, { ...nothing, status: "failed" });
    expect((await rowOf(bench, call)).result).toBeNull();
    await tell(released, busy);
    expect((await rowOf(bench, call)).result?.status).toBe("busy");
    expect(await rowOf(bench, second)).toMatchObject({ state: "WAITING", reason: "retry" });
    expect(bench.eventsOf("call.placed_late")).toEqual([]);
  });

  it.each([true, false])(
    "is called back as its retry has promised, before that is known: %s",
    async (isFirst) => {
      const { bench, call, second, released, claims, tell } = await dialTwice({
        callBacks: { within: "3d", most: 1 },
      });
      await tell(claims, busy);
      await bench.simulate(16 * 60);
      expect(idsDialed(bench)).toEqual([call.id, call.id, second.id]);
      if (!isFirst) await tell(released, completed);
      const wished = new Date(bench.now() + 120 * minuteMs).toISOString();
      await tell((await rowOf(bench, second)).claims, completed, { wished, id: second.id });
      const third = { id: toTryId(call.id, 3) };
      expect(await rowOf(bench, third)).toMatchObject({ state: "WAITING", reason: "call_back" });
      if (isFirst) await tell(released, completed);
      await bench.simulate(121 * 60);
      expect(idsDialed(bench).slice(3)).toEqual([third.id]);
    },
  );

  it("is not tried a third time after a retry that was dialed before that was known", async () => {
    const { bench, call, second, released, claims, tell } = await dialTwice();
    await tell(claims, busy);
    await bench.simulate(16 * 60);
    await tell(released, completed);
    await tell((await rowOf(bench, second)).claims, busy, { id: second.id });
    await bench.simulate(16 * 60);
    expect(idsDialed(bench)).toEqual([call.id, call.id, second.id]);
  });

  it("is called back as promised", async () => {
    const { bench, second, released, claims, tell } = await dialTwice({
      callBacks: { within: "3d", most: 1 },
    });
    const wished = new Date(bench.now() + 120 * minuteMs).toISOString();
    await tell(claims, completed, { wished });
    await tell(released, completed);
    expect(await rowOf(bench, second)).toMatchObject({ state: "WAITING", reason: "call_back" });
  });
});
