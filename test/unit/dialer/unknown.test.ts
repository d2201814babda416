import { describe, expect, it } from "vitest";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  callsNow,
  callTo,
  cancel,
  due,
  idsDialed,
  neverCall,
  pause,
  putIn,
  rowOf,
  rowsIn,
  sendEach,
  stateOf,
  statesOf,
  unknown,
  webhook,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const plan = { agents: { agent_sales: { ...webhook, idempotent: true } } };

describe("an idempotent provider", () => {
  it("is sent an unknown call again under the same id, until it answers", async () => {
    const bench = createDialerBench({ plan });
    bench.answer = async () => (bench.dialed.length < 3 ? unknown : { kind: "placed" });
    const call = aCall();
    await sendEach(bench, call);
    await bench.run(200);
    expect(idsDialed(bench)).toEqual([call.id, call.id, call.id]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", resent: true, attempt: 3 });
  });

  it("is told the attempt that is repeated", inSlowTier, async () => {
    const bench = createDialerBench({ plan });
    const attempts: number[] = [];
    bench.answer = async (_call, _route, attempt) => {
      attempts.push(attempt);
      if (attempts.length === 1) return { kind: "not_placed", code: "http_429" };
      return attempts.length < 3 ? unknown : { kind: "placed" };
    };
    await sendEach(bench, aCall());
    await bench.run(300);
    expect(attempts).toEqual([1, 2, 2]);
  });

  it("is sent it where the first request went, though the plan has changed", async () => {
    const bench = createDialerBench({ plan });
    bench.answer = async () => (bench.dialed.length < 2 ? unknown : { kind: "placed" });
    await sendEach(bench, aCall());
    await bench.deliver();
    const moved = { ...webhook, url: "http://127.0.0.1:9/moved", idempotent: true };
    bench.changePlan({ agents: { agent_sales: moved } });
    await bench.run(120);
    expect(bench.dialed.map(({ route }) => "url" in route && route.url)).toEqual([
      "http://127.0.0.1:9/dial",
      "http://127.0.0.1:9/dial",
    ]);
  });

  it.each([{ agent_sales: webhook }, { agent_sales: { ...webhook, idempotent: false } }])(
    "is sent nothing again once the plan has taken its promise back: %j",
    async (agents) => {
      const bench = createDialerBench({ plan });
      bench.answer = async () => unknown;
      const call = aCall();
      await sendEach(bench, call);
      await bench.deliver();
      bench.changePlan({ agents });
      await bench.run(600);
      expect(bench.dialed).toHaveLength(1);
      expect(await rowOf(bench, call)).toMatchObject({ state: "NEEDS_REVIEW", resent: false });
    },
  );

  it.each([
    ["hours", { callingHours: "night" }],
    ["check", { checks: ["crm"] }],
  ])("is sent nothing again against the %s that the plan has now", async (_, rule) => {
    const more = {
      callingHours: { default: "always", night: { "mon-sun": ["03:00-03:01"] } },
      checks: { crm: { url: "http://127.0.0.1:9/crm" } },
    };
    const bench = createDialerBench({ plan: { ...plan, ...more } });
    bench.answer = async () => unknown;
    bench.check = async () => ({ decision: "refuse", reason: "left" });
    const call = aCall();
    await sendEach(bench, call);
    await bench.deliver();
    bench.changePlan({ ...more, agents: { agent_sales: { ...plan.agents.agent_sales, ...rule } } });
    await bench.run(600);
    expect(bench.dialed).toHaveLength(1);
    expect(await rowOf(bench, call)).toMatchObject({ state: "NEEDS_REVIEW", resent: false });
  });

  it.each<DialOutcome>([
    { kind: "rejected", code: "http_422" },
    { kind: "not_placed", code: "http_429", retryAfterSeconds: 1 },
    { kind: "forbidden", code: "http_403" },
    { kind: "account_refused", code: "http_401" },
    unknown,
  ])("that answers %o the second time leaves the call to a person", inSlowTier, async (second) => {
    const bench = createDialerBench({ plan });
    bench.answer = async () => (bench.dialed.length < 2 ? unknown : second);
    const call = aCall();
    await sendEach(bench, call);
    await bench.run(600);
    expect(bench.dialed.length).toBeGreaterThan(1);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "NEEDS_REVIEW",
      request: call.request,
    });
    // The answer to a repeated request may be about the first one, so it opens no breaker.
    expect(bench.eventsOf("breaker.opened")).toEqual([]);
  });

  it("is sent nothing again by a message that comes twice: only when its row is due", async () => {
    const bench = createDialerBench({ plan });
    bench.answer = async () => unknown;
    bench.deps.random.fraction = () => 0.999;
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    const { dueAt } = await rowOf(bench, call);
    await bench.send(due(call), due(call));
    await bench.deliver();
    expect(bench.dialed.map(({ at }) => at).slice(1)).toEqual([dueAt]);
  });

  it("whose resend lapses leaves the call UNKNOWN, under the time of its first unknown outcome", async () => {
    const bench = createDialerBench({ plan });
    const call = aCall();
    bench.answer = async () => unknown;
    await sendEach(bench, call);
    await bench.deliver();
    const since = (await rowOf(bench, call)).unknownSince;
    bench.answer = () => new Promise(() => undefined);
    bench.advance(60_000);
    await bench.send(due(call));
    void bench.deliver();
    await expect.poll(() => bench.dialed.length).toBe(2);
    bench.advance(60_000);
    await bench.sweep();
    expect(await rowOf(bench, call)).toMatchObject({
      state: "UNKNOWN",
      resent: true,
      unknownSince: since,
    });
  });

  it.each<[string, (bench: Bench) => Promise<unknown>]>([
    ["cancelled", (bench) => cancel(bench, { agent: "agent_sales" })],
    ["paused", (bench) => pause(bench, { agent: "agent_sales" })],
    ["never to be called", (bench) => neverCall(bench, "+12025550123")],
  ])(
    "is sent nothing again of a call that is %s since, which is not even claimed",
    async (_, order) => {
      const bench = createDialerBench({ plan });
      bench.answer = async () => unknown;
      const call = aCallNow(bench);
      await sendEach(bench, call);
      await bench.deliver();
      await order(bench);
      await bench.run(250);
      expect(bench.dialed).toHaveLength(1);
      expect(await rowOf(bench, call)).toMatchObject({
        state: "UNKNOWN",
        resent: false,
        attempt: 1,
      });
      await bench.run(200);
      expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
    },
  );

  it("is sent nothing again once the call has expired or its agent is gone from the plan", async () => {
    const bench = createDialerBench({ plan: { ...plan, expireAfterHours: 0.01 } });
    bench.answer = async () => unknown;
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    bench.advance(36_000);
    await bench.run(400);
    expect(bench.dialed).toHaveLength(1);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });
});

describe("a provider that is not idempotent", () => {
  it("is never sent a call of unknown outcome again, whatever messages come", async () => {
    const bench = createDialerBench();
    bench.answer = async () => unknown;
    const calls = callsNow(bench, 4);
    await sendEach(bench, ...calls);
    await bench.deliver();
    for (let n = 0; n < 10; n++) {
      await bench.send(due(...calls));
      await sendEach(bench, ...calls);
      await bench.run(60);
    }
    expect(new Set(idsDialed(bench)).size).toBe(bench.dialed.length);
    expect(bench.dialed).toHaveLength(4);
    expect(await statesOf(bench, calls)).toEqual(calls.map(() => "NEEDS_REVIEW"));
  });

  it("such as Telnyx, whose ids count for a minute alone, is sent nothing again either", async () => {
    const telnyx = { provider: "telnyx", connection: "149", from: "+12025550100" };
    const bench = createDialerBench({ plan: { agents: { telnyx } } });
    bench.answer = async () => unknown;
    const call = callTo("telnyx");
    await sendEach(bench, call);
    await bench.run(600);
    expect(bench.dialed).toHaveLength(1);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });
});

describe("a sweep", () => {
  it("turns a claim past its time into UNKNOWN, and no other", async () => {
    const bench = createDialerBench();
    const [finished, running] = [aCallNow(bench), aCallNow(bench)];
    await putIn(bench, "DIALING", finished, { at: bench.now() - 55_000 });
    await putIn(bench, "DIALING", running, { at: bench.now() - 54_999 });
    await bench.sweep();
    expect(await statesOf(bench, [finished, running])).toEqual(["UNKNOWN", "DIALING"]);
    expect(bench.eventsOf("call.unknown")).toMatchObject([
      { level: "warning", call_id: finished.id, reason: "claim_lapsed" },
    ]);
  });

  it(
    "moves any number of calls that stayed unknown to review, and dials nobody",
    inSlowTier,
    async () => {
      const bench = createDialerBench();
      const calls = callsNow(bench, 1200);
      for (const call of calls) await putIn(bench, "DIALING", call, { at: bench.now() - 60_000 });
      await bench.simulate(500);
      expect(await rowsIn(bench, "NEEDS_REVIEW")).toHaveLength(1200);
      expect(bench.dialed).toEqual([]);
      expect(bench.eventsOf("call.needs_review")).toHaveLength(1200);
    },
  );

  it("leaves a claim that was settled while it looked as its holder wrote it", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    const row = await putIn(bench, "DIALING", call, { at: bench.now() - 60_000 });
    bench.breakLedger({
      async write(changes) {
        await putIn(bench, "PLACED", call);
        return bench.rows.write(changes);
      },
    });
    await bench.sweep();
    expect(await stateOf(bench, call)).toBe("PLACED");
    expect(row.state).toBe("DIALING");
  });
});
