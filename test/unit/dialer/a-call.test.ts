import { describe, expect, it } from "vitest";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  boom,
  callsNow,
  callTo,
  due,
  idsDialed,
  message,
  putIn,
  rowOf,
  rowsIn,
  sendEach,
  stateOf,
  unknown,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

describe("a call", () => {
  it("is claimed, dialed once, settled, and then acknowledged", async () => {
    const bench = createDialerBench();
    const call = aCall();
    bench.answer = async ({ id }) => {
      expect(await bench.row(id)).toMatchObject({ state: "DIALING", attempt: 1 });
      return { kind: "placed", providerCallId: "CA1" };
    };
    await sendEach(bench, call);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed).toEqual([
      {
        call: { ...call, first: "request" },
        route: bench.plan.agents["agent_sales"],
        at: bench.now(),
      },
    ]);
    expect(await bench.row(call.id)).toMatchObject({
      state: "PLACED",
      request: null,
      providerCallId: "CA1",
      numberTail: "23",
    });
    expect(bench.stored.get(call.id)?.json).not.toContain("2025550123");
    expect(bench.eventsOf("call.placed")).toEqual([
      expect.objectContaining({
        call_id: call.id,
        request_id: call.requestId,
        client: "crm",
        agent_id: "agent_sales",
        account: "webhook",
        attempt: 1,
        state: "PLACED",
      }),
    ]);
  });

  it("is dialed once however often its message comes, in one delivery or in many", async () => {
    const bench = createDialerBench();
    const call = aCall();
    await sendEach(bench, call, call, call);
    expect(await bench.deliver()).toEqual(["ack", "ack", "ack"]);
    await sendEach(bench, call);
    expect(await bench.deliver()).toEqual(["ack"]);
    await bench.send(due(call));
    await bench.run(600);
    expect(bench.dialed).toHaveLength(1);
  });

  it("is dialed once by two dialers that were handed it at the same time", async () => {
    const bench = createDialerBench();
    const call = aCall();
    await sendEach(bench, call);
    const first = bench.deliver();
    await sendEach(bench, call);
    const second = bench.deliver();
    expect([await first, await second]).toEqual([["ack"], ["ack"]]);
    expect(bench.dialed).toHaveLength(1);
  });

  it("ends EXPIRED once its time is over", async () => {
    const bench = createDialerBench({ plan: { expireAfterHours: 1 } });
    const call = aCall({ acceptedAt: bench.now() - 3_600_000 });
    await sendEach(bench, call);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed).toEqual([]);
    expect(await bench.row(call.id)).toMatchObject({ state: "EXPIRED", request: call.request });
  });

  it("is not dialed after its time, though its place came late", inSlowTier, async () => {
    const bench = createDialerBench({ concurrency: 1, plan: { expireAfterHours: 0.05 } });
    bench.answer = async () => {
      await bench.sleep(29_000);
      return { kind: "placed" };
    };
    const calls = callsNow(bench, 20);
    const startedAt = bench.now();
    await sendEach(bench, ...calls);
    await bench.simulate(400, { consumers: 1 });
    expect(bench.dialed.length).toBeGreaterThanOrEqual(5);
    for (const { at } of bench.dialed) expect(at).toBeLessThan(startedAt + 180_000);
    expect(await rowsIn(bench, "EXPIRED")).toHaveLength(20 - bench.dialed.length);
    expect(await rowsIn(bench, "PLACED")).toHaveLength(bench.dialed.length);
  });

  it("is REJECTED with its payload where the plan permits it no longer", async () => {
    const bench = createDialerBench();
    const denied = aCallNow(bench, { phone_number: "+18765550123" });
    await sendEach(bench, denied);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed).toEqual([]);
    expect(await bench.row(denied.id)).toMatchObject({
      state: "REJECTED",
      reason: "destination_denied",
      request: denied.request,
    });
  });

  it("is REJECTED with its payload where its agent's new route cannot carry its context", async () => {
    const twilio = { provider: "twilio", from: "+12025550100", stream: "wss://example.com/" };
    const bench = createDialerBench({ plan: { agents: { agent_sales: twilio } } });
    const call = aCallNow(bench, { context: { name: "x".repeat(600) } });
    await sendEach(bench, call);
    await bench.deliver();
    expect(await bench.row(call.id)).toMatchObject({
      state: "REJECTED",
      reason: "context_not_carried",
      request: call.request,
    });
    expect(bench.dialed).toEqual([]);
  });
});

describe("a call whose agent has no route", () => {
  const agents = { agent_sales: { provider: "webhook", url: "http://127.0.0.1:9/dial" } };
  const agent_new = { provider: "webhook", url: "http://127.0.0.1:9/new" };

  it(
    "waits with an alarm, and is dialed once the plan has a route for it",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ plan: { agents } });
      const call = callTo("agent_new", { acceptedAt: bench.now() });
      await sendEach(bench, call);
      expect(await bench.deliver()).toEqual(["ack"]);
      expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "route_gone" });
      await bench.sweep();
      expect(bench.eventsOf("route.gone")).toMatchObject([{ level: "alarm", client: "crm" }]);
      await bench.run(600);
      expect(bench.dialed).toEqual([]);
      bench.changePlan({ agents: { ...agents, agent_new } });
      await bench.run(90);
      expect(bench.dialed.map((one) => [one.call.id, "url" in one.route && one.route.url])).toEqual(
        [[call.id, agent_new.url]],
      );
    },
  );

  it("raises an alarm within a minute of the deployment that loses its route, once until the hour", async () => {
    const bench = createDialerBench({ plan: { agents: { ...agents, agent_new } } });
    await bench.sweep(); // the hourly visit
    const dueAt = bench.now() + 8 * 3_600_000;
    await putIn(bench, "WAITING", aCallNow(bench, { agent_id: "agent_new" }), { dueAt });
    await putIn(bench, "WAITING", aCallNow(bench), { dueAt });
    bench.changePlan({ agents });
    const alarms = () => bench.eventsOf("route.gone");
    for (let minute = 0; minute < 30; minute++) {
      bench.advance(60_000);
      await bench.sweep();
      expect(alarms()).toMatchObject([{ level: "alarm", client: "crm" }]);
    }
    // Put back, and lost again: it is new.
    bench.changePlan({ agents: { ...agents, agent_new } });
    await bench.sweep();
    bench.changePlan({ agents });
    await bench.sweep();
    expect(alarms()).toHaveLength(2);
  });

  it("raises no alarm if it is a test call", inSlowTier, async () => {
    const bench = createDialerBench({ plan: { agents } });
    const fresh = aCall({
      ...callTo("agent_new", { acceptedAt: bench.now() }),
      client: "test:crm",
    });
    await sendEach(bench, fresh);
    await bench.deliver();
    await putIn(
      bench,
      "WAITING",
      aCallNow(bench, { agent_id: "agent_new" }, { client: "test:crm" }),
    );
    await bench.send({ kind: "dispatch", rows: [{ id: fresh.id, account: "test:crm:webhook" }] });
    await bench.simulate(7200);
    const logged = bench.eventsOf("route.gone");
    expect(new Set(logged.map(({ level }) => level))).toEqual(new Set(["info"]));
    expect(logged.length).toBeGreaterThanOrEqual(2);
    expect(await stateOf(bench, fresh)).toBe("WAITING");
  });

  it("raises none for an agent without waiting calls", async () => {
    const bench = createDialerBench({ plan: { agents: { ...agents, agent_new } } });
    await bench.sweep();
    const call = callTo("agent_new", { acceptedAt: bench.now() });
    await sendEach(bench, call);
    await bench.run(30);
    expect(bench.dialed).toHaveLength(1);
    bench.changePlan({ agents });
    bench.advance(60_000);
    await bench.sweep();
    expect(bench.eventsOf("route.gone")).toEqual([]);
  });

  it(
    "is looked at every hour, with an alarm, and ends EXPIRED when its time is over",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ plan: { agents, expireAfterHours: 5 } });
      const call = callTo("agent_new", { acceptedAt: bench.now() });
      await sendEach(bench, call);
      await bench.simulate(4.9 * 3600);
      expect(await stateOf(bench, call)).toBe("WAITING");
      const alarms = bench.eventsOf("route.gone").length;
      expect(alarms).toBeGreaterThanOrEqual(4);
      expect(alarms).toBeLessThanOrEqual(7); // the first minute's two, and one an hour
      await bench.simulate(1.2 * 3600);
      expect(await bench.row(call.id)).toMatchObject({ state: "EXPIRED", request: call.request });
      expect(bench.dialed).toEqual([]);
    },
  );
});

describe("an outcome", () => {
  it.each<[DialOutcome, string]>([
    [{ kind: "rejected", code: "http_422" }, "REJECTED"],
    [{ kind: "forbidden", code: "http_403" }, "NEEDS_REVIEW"],
    [unknown, "NEEDS_REVIEW"],
  ])("%o is dialed once and ends %s with its payload", async (outcome, state) => {
    const bench = createDialerBench();
    bench.answer = async () => outcome;
    const call = aCall();
    await sendEach(bench, call);
    await bench.run(900);
    expect(bench.dialed).toHaveLength(1);
    expect(await bench.row(call.id)).toMatchObject({ state, request: call.request });
  });

  it("that is unknown stays UNKNOWN for reviewAfterSeconds", async () => {
    const bench = createDialerBench({ plan: { reviewAfterSeconds: 200 } });
    bench.answer = async () => unknown;
    const call = aCall();
    await sendEach(bench, call);
    await bench.run(195);
    expect(await bench.row(call.id)).toMatchObject({
      state: "UNKNOWN",
      reason: "time_out",
      request: call.request,
    });
    await bench.run(70);
    expect(await bench.row(call.id)).toMatchObject({
      state: "NEEDS_REVIEW",
      reason: "outcome_unknown",
    });
    expect(bench.eventsOf("call.needs_review")).toMatchObject([{ level: "alarm" }]);
  });

  it("of 429 is dialed again at its Retry-After, and not before", async () => {
    const bench = createDialerBench();
    bench.answer = async () =>
      bench.dialed.length === 1
        ? { kind: "not_placed", code: "http_429", retryAfterSeconds: 30 }
        : { kind: "placed" };
    const call = aCall();
    await sendEach(bench, call);
    await bench.run(120);
    const [first, second, ...more] = bench.dialed.map(({ at }) => at);
    expect(more).toEqual([]);
    const waited = (second ?? 0) - (first ?? 0);
    expect(waited).toBeGreaterThanOrEqual(30_000);
    expect(waited).toBeLessThan(32_000);
    expect(await bench.row(call.id)).toMatchObject({ state: "PLACED", attempt: 2 });
  });

  it("of 429 whose Retry-After is hours is dialed again after 15 minutes", inSlowTier, async () => {
    const bench = createDialerBench();
    bench.answer = async () =>
      bench.dialed.length === 1
        ? { kind: "not_placed", code: "http_429", retryAfterSeconds: 7200 }
        : { kind: "placed" };
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.simulate(7500);
    const [first, second, ...more] = bench.dialed.map(({ at }) => at);
    expect(more).toEqual([]);
    const waited = (second ?? 0) - (first ?? 0);
    expect(waited).toBeGreaterThanOrEqual(900_000);
    expect(waited).toBeLessThan(906_000);
  });

  it(
    "that keeps being not placed is tried ever more rarely, and ends EXPIRED",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ plan: { expireAfterHours: 1 } });
      bench.answer = async () => ({ kind: "not_placed", code: "econnrefused" });
      const call = aCall({ acceptedAt: bench.now() });
      await sendEach(bench, call);
      await bench.run(3700);
      expect(bench.dialed.length).toBeGreaterThan(8);
      expect(bench.dialed.length).toBeLessThan(70); // a minute apart at last
      expect(await bench.row(call.id)).toMatchObject({ state: "EXPIRED", request: call.request });
    },
  );

  it("of 429 without a time to come back is tried ever more rarely", inSlowTier, async () => {
    const bench = createDialerBench();
    bench.answer = async () => ({ kind: "not_placed", code: "http_429" });
    await sendEach(bench, aCall());
    await bench.run(600);
    expect(bench.dialed.length).toBeGreaterThan(3);
    expect(bench.dialed.length).toBeLessThan(20);
  });

  it("is written before it is counted for the breakers", async () => {
    const bench = createDialerBench();
    const call = aCall();
    let stateAtCount: string | undefined;
    bench.answer = async () => ({ kind: "unknown", code: "http_500" });
    bench.breakDocuments({
      async add(document, counters, expiresAt) {
        stateAtCount ??= await stateOf(bench, call);
        return bench.documents.add(document, counters, expiresAt);
      },
    });
    await sendEach(bench, call);
    await bench.deliver();
    expect(stateAtCount).toBe("UNKNOWN");
  });

  it("of a provider that throws is unknown", async () => {
    const bench = createDialerBench();
    bench.answer = boom;
    const call = aCall();
    await sendEach(bench, call);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(await bench.row(call.id)).toMatchObject({ state: "UNKNOWN", reason: "provider_threw" });
  });
});

describe("a row", () => {
  it("that waits is dialed from its own call: a message is only a hint", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    const other = { ...call, request: { ...call.request, phone_number: "+12025550199" } };
    await bench.send(message(other));
    await bench.deliver();
    expect(bench.dialed.map((one) => one.call.request)).toEqual([call.request]);
  });

  it("that is due within five seconds is waited for, and one that is due later is left", async () => {
    const bench = createDialerBench();
    const [soon, later] = [aCallNow(bench), aCallNow(bench)];
    const dueAt = bench.now() + 4_900;
    await putIn(bench, "WAITING", soon, { dueAt });
    await putIn(bench, "WAITING", later, { dueAt: bench.now() + 5_100 });
    await bench.send(due(soon, later));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed.map((one) => [one.call.id, one.at])).toEqual([[soon.id, dueAt]]);
    expect(await stateOf(bench, later)).toBe("WAITING");
  });

  it("that does not exist costs nothing: a hint for it is acknowledged", async () => {
    const bench = createDialerBench();
    await bench.send(due({ id: "call_gone_00000" }));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(idsDialed(bench)).toEqual([]);
    expect(bench.stored.size).toBe(0);
  });

  it("records the history of its call: each wait once, its attempts and its look-ups", async () => {
    const bench = createDialerBench({
      startAt: "2026-06-01T12:59:00Z",
      plan: {
        agents: { vapi: { provider: "vapi", agent: "asst_9", from: "phone_1" } },
        callingHours: { default: { "mon-sun": ["09:00-17:00"] } },
      },
    });
    bench.answer = async () =>
      bench.dialed.length === 1
        ? { kind: "not_placed", code: "http_429", retryAfterSeconds: 3 }
        : { kind: "unknown", code: "http_500" };
    const call = callTo("vapi", { acceptedAt: bench.now() });
    await sendEach(bench, call);
    await bench.run(500);
    const row = await rowOf(bench, call);
    const steps = row.history.map(({ state, reason }) => `${state} ${reason}`);
    expect(steps).toEqual([
      "WAITING hours:callingHours.default",
      "DIALING claimed",
      "WAITING http_429",
      "DIALING claimed",
      "UNKNOWN http_500",
      "UNKNOWN not_found",
      "NEEDS_REVIEW outcome_unknown",
    ]);
    expect(row.history[0]).toEqual({
      at: expect.any(Number),
      state: "WAITING",
      reason: "hours:callingHours.default",
      dueAt: Date.parse("2026-06-01T13:00:02Z"),
    });
    expect(JSON.stringify(row.history)).not.toContain("2025550123");
  });

  it("keeps its history short, however often its call is sent back", inSlowTier, async () => {
    const bench = createDialerBench();
    bench.answer = async () => ({ kind: "not_placed", code: "http_429", retryAfterSeconds: 5 });
    const call = callTo("agent_sales");
    await sendEach(bench, call);
    await bench.run(3600);
    expect(bench.dialed.length).toBeGreaterThan(60);
    expect((await rowOf(bench, call)).history.length).toBeLessThanOrEqual(61);
  });
});
