import { describe, expect, it } from "vitest";
import type { Call } from "../../shared/call.ts";
import type { Order } from "../../shared/ledger/call-ledger.ts";
import {
  type Cancellable,
  cancelOrderOf,
  type Holdable,
  holdOrderOf,
  listMarks,
} from "../../shared/orders.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import { aCall } from "../support/calls.ts";
import { createDialerBench } from "../support/dialer.ts";

const hashKey = "5f".repeat(32);
const messageOf = (call: Call) => ({ kind: "call", call }) as const;
const callTo = (agent_id: string, more: Partial<Call> = {}) =>
  aCall({ request: { phone_number: "+12025550123", agent_id }, ...more });
type Bench = ReturnType<typeof createDialerBench>;
const orderAt = (name: string, at: number): Order => ({ name, at, by: "ops", expiresAt: null });
const hold = (bench: Bench, what: Holdable) =>
  bench.rows.giveOrder(orderAt(holdOrderOf(what), bench.now()));
const cancel = (bench: Bench, what: Cancellable) =>
  bench.rows.giveOrder(orderAt(cancelOrderOf(what), bench.now()));
const stateOf = async (bench: Bench, { id }: Call) => (await bench.row(id))?.state;

describe("an operator's cancellation", () => {
  it("ends the calls of a request that no dialer has seen yet, with their payload, and no other", async () => {
    const bench = createDialerBench();
    const [mine, other] = [callTo("agent_sales", { requestId: "req_7" }), callTo("agent_sales")];
    await cancel(bench, { request: "req_7" });
    await bench.send(messageOf(mine), messageOf(other));
    await bench.deliver();
    expect(bench.dialed.map(({ call }) => call.id)).toEqual([other.id]);
    expect(await bench.row(mine.id)).toMatchObject({
      state: "CANCELLED",
      reason: "operator",
      call: mine,
    });
    expect(bench.eventsOf("call.cancelled")).toHaveLength(1);
  });

  it("ends what an agent has been sent so far, and nothing that comes later", async () => {
    const bench = createDialerBench();
    const before = callTo("agent_sales", { acceptedAt: bench.now() });
    const later = callTo("agent_sales", { acceptedAt: bench.now() + 1 });
    await cancel(bench, { agent: "agent_sales" });
    await bench.send(messageOf(before), messageOf(later));
    await bench.deliver();
    expect([await stateOf(bench, before), await stateOf(bench, later)]).toEqual([
      "CANCELLED",
      "PLACED",
    ]);
  });

  it("ends what waits to be sent again, once its time comes", async () => {
    const bench = createDialerBench();
    bench.answer = async () => ({ kind: "not_placed", code: "http_429" });
    const call = callTo("agent_sales");
    await bench.send(messageOf(call));
    await bench.deliver();
    await cancel(bench, { agent: "agent_sales" });
    await bench.run(60);
    expect(bench.dialed).toHaveLength(1);
    expect(await stateOf(bench, call)).toBe("CANCELLED");
  });

  it("reaches the calls of a delivery that is under way within seconds", async () => {
    const bench = createDialerBench({ lanes: 1 });
    bench.answer = async () => {
      await bench.sleep(4000);
      if (bench.dialed.length === 2) await cancel(bench, { agent: "agent_sales" });
      return { kind: "placed" };
    };
    const calls = Array.from({ length: 10 }, () => callTo("agent_sales"));
    await bench.send(...calls.map(messageOf));
    await bench.deliver();
    expect(bench.dialed.length).toBeLessThanOrEqual(4);
    const states = await Promise.all(calls.map((call) => stateOf(bench, call)));
    expect(states.filter((state) => state === "CANCELLED")).toHaveLength(10 - bench.dialed.length);
  });

  it("ends what waits in a line, and what is held", async () => {
    const providers = { webhook: { callsPerSecond: 0.1 } };
    const bench = createDialerBench({ plan: { providers } });
    const calls = Array.from({ length: 20 }, () => callTo("agent_sales"));
    const held = Array.from({ length: 3 }, () => callTo("agent_support"));
    await hold(bench, { agent: "agent_support" });
    await bench.send(...calls.map(messageOf), ...held.map(messageOf));
    await bench.deliver();
    await cancel(bench, { agent: "agent_sales" });
    await cancel(bench, { agent: "agent_support" });
    await bench.run(70);
    for (const call of held) expect(await stateOf(bench, call)).toBe("CANCELLED");
    expect(bench.dialed.length).toBeLessThan(5);
    const states = await Promise.all(calls.map((call) => stateOf(bench, call)));
    expect(new Set(states)).toEqual(new Set(["PLACED", "CANCELLED"]));
  });
});

describe("an operator's hold", () => {
  it.each<[string, Holdable]>([
    ["an agent", { agent: "agent_sales" }],
    ["an account", { account: "sales-hook" }],
  ])("of %s keeps its calls waiting without a message, and no other's", async (_, what) => {
    const bench = createDialerBench({
      plan: {
        agents: {
          agent_sales: { provider: "sales-hook", url: "http://127.0.0.1:9/dial" },
          agent_support: { provider: "webhook", url: "http://127.0.0.1:9/support" },
        },
        providers: { "sales-hook": { type: "webhook" } },
      },
    });
    await hold(bench, what);
    const calls = Array.from({ length: 30 }, (_call, n) =>
      callTo("agent_sales", { acceptedAt: bench.now() + n }),
    );
    const other = callTo("agent_support");
    await bench.send(...calls.map(messageOf), messageOf(other));
    await bench.deliver();
    expect(await stateOf(bench, other)).toBe("PLACED");
    const sent = bench.sent();
    await bench.run(600);
    expect(bench.sent() - sent).toBe(10); // the sweeps themselves
    expect(bench.dialed).toHaveLength(1);
    const [first] = calls;
    expect(await bench.row(first?.id ?? "")).toMatchObject({
      state: "DEFERRED",
      reason: "operator_hold",
    });

    await bench.rows.dropOrder(holdOrderOf(what));
    await bench.run(70);
    for (const call of calls) expect(await stateOf(bench, call)).toBe("PLACED");
    expect(bench.dialed).toHaveLength(31);
  });

  it("lets go into their hours, and into their account's line", async () => {
    const bench = createDialerBench({
      startAt: "2026-06-01T22:00Z",
      plan: {
        callingHours: { default: { "mon-sun": ["09:00-17:00"] } },
        providers: { webhook: { callsPerSecond: 1 } },
      },
    });
    await hold(bench, { agent: "agent_sales" });
    const call = callTo("agent_sales", { acceptedAt: bench.now() });
    await bench.send(messageOf(call));
    await bench.deliver();
    await bench.rows.dropOrder(holdOrderOf({ agent: "agent_sales" }));
    await bench.run(70);
    expect(await bench.row(call.id)).toMatchObject({
      state: "DEFERRED",
      reason: "hours:callingHours.default",
      line: null,
    });
    expect(bench.dialed).toEqual([]);
  });

  it("does not keep calls past their time", async () => {
    const bench = createDialerBench({ plan: { expireAfterHours: 1 } });
    await hold(bench, { agent: "agent_sales" });
    const [early, late] = [0, 1_800_000].map((after) =>
      callTo("agent_sales", { acceptedAt: bench.now() + after }),
    );
    if (early === undefined || late === undefined) throw new Error("two calls were made");
    await bench.send(messageOf(early), messageOf(late));
    await bench.deliver();
    await bench.run(3700);
    expect(await stateOf(bench, early)).toBe("EXPIRED");
    expect(await stateOf(bench, late)).toBe("DEFERRED");
  });

  it("keeps an unknown call from being sent again", async () => {
    const bench = createDialerBench({
      plan: {
        agents: { a: { provider: "webhook", url: "http://127.0.0.1:9/", idempotent: true } },
      },
    });
    bench.answer = async () => ({ kind: "unknown", code: "time_out" });
    const call = callTo("a");
    await bench.send(messageOf(call));
    await bench.deliver();
    await hold(bench, { agent: "a" });
    await bench.run(400);
    expect(bench.dialed).toHaveLength(1);
    expect(await stateOf(bench, call)).toBe("PARKED");
  });
});

describe("the do-not-call list", () => {
  const hashOf = (number: string) => traceOfNumber(number, hashKey).numberHash;
  const list = (bench: Bench, number: string, key = hashKey) => {
    const { any, own } = listMarks(key);
    return bench.rows.addDoNotCall([hashOf(number), any, own], bench.now());
  };

  it("ends calls to its numbers as REJECTED, with their payload, and no other", async () => {
    const bench = createDialerBench();
    await list(bench, "+12025550123");
    const [never, other] = [
      callTo("agent_sales"),
      aCall({ request: { phone_number: "+12025550124", agent_id: "agent_sales" } }),
    ];
    await bench.send(messageOf(never), messageOf(other));
    await bench.deliver();
    expect(bench.dialed.map(({ call }) => call.id)).toEqual([other.id]);
    expect(await bench.row(never.id)).toMatchObject({
      state: "REJECTED",
      reason: "do_not_call",
      call: never,
    });
    await bench.rows.dropDoNotCall([hashOf("+12025550123")]);
    const later = callTo("agent_sales");
    await bench.send(messageOf(later));
    await bench.deliver();
    expect(await stateOf(bench, later)).toBe("PLACED");
  });

  it("holds within 5 s for the calls of a delivery that is under way", async () => {
    const bench = createDialerBench({ lanes: 1 });
    bench.answer = async () => {
      if (bench.dialed.length === 1) await list(bench, "+12025550123");
      await bench.sleep(2501);
      return { kind: "placed" };
    };
    const first = aCall({ request: { phone_number: "+12025550124", agent_id: "agent_sales" } });
    const listed = Array.from({ length: 4 }, () => callTo("agent_sales"));
    await bench.send(messageOf(first), ...listed.map(messageOf));
    await bench.deliver();
    expect(await stateOf(bench, first)).toBe("PLACED");
    // 2.5 s after it was read it is not read again; 5 s after, it is.
    const states = await Promise.all(listed.map((call) => stateOf(bench, call)));
    expect(states).toEqual(["PLACED", "REJECTED", "REJECTED", "REJECTED"]);
  });

  it("is read in one go for a delivery, and again after a failure", async () => {
    const bench = createDialerBench({ lanes: 1 });
    const calls = Array.from({ length: 5 }, (_, n) =>
      aCall({ request: { phone_number: `+1202555012${n}`, agent_id: "agent_sales" } }),
    );
    await list(bench, "+12025550124");
    let asked = 0;
    bench.breakLedger({
      async doNotCall(hashes) {
        asked += 1;
        if (asked === 1) throw new Error("down");
        return bench.rows.doNotCall(hashes);
      },
    });
    await bench.send(...calls.map(messageOf));
    expect(await bench.deliver()).toEqual([
      { retryAfterSeconds: 60 },
      ...Array.from({ length: 4 }, () => "acknowledge"),
    ]);
    expect(asked).toBe(2);
    const states = await Promise.all(calls.map((call) => stateOf(bench, call)));
    expect(states).toEqual([undefined, "PLACED", "PLACED", "PLACED", "REJECTED"]);
  });

  it("is not asked for where nobody is to be dialed", async () => {
    const bench = createDialerBench();
    bench.breakLedger({ doNotCall: () => Promise.reject(new Error("down")) });
    const call = callTo("agent_sales");
    await hold(bench, { agent: "agent_sales" });
    await bench.send(messageOf(call));
    expect(await bench.deliver()).toEqual(["acknowledge"]);
    expect(await stateOf(bench, call)).toBe("DEFERRED");
  });

  it("lets nobody be dialed where it was made under another HASH_KEY, or cannot be read", async () => {
    const bench = createDialerBench();
    await list(bench, "+12025550123", "a0".repeat(32));
    const call = aCall({ request: { phone_number: "+12025550124", agent_id: "agent_sales" } });
    await bench.send(messageOf(call));
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 60 }]);
    expect(bench.dialed).toEqual([]);
    expect(bench.eventsOf("ledger.unreachable")).toMatchObject([{ level: "alarm" }]);
    bench.breakLedger({ doNotCall: () => Promise.reject(new Error("down")) });
    await bench.run(200);
    expect(bench.dialed).toEqual([]);
    bench.mendLedger();
    await bench.rows.dropDoNotCall([listMarks("").any]);
    await bench.run(600);
    expect(await stateOf(bench, call)).toBe("PLACED");
  });
});

describe("a call that is made instead of another", () => {
  it("is not made where the other turns out to be placed meanwhile", async () => {
    const bench = createDialerBench();
    const before = callTo("agent_sales");
    bench.answer = async () => ({ kind: "unknown", code: "http_500" });
    await bench.send(messageOf(before));
    await bench.run(370);
    const redial = callTo("agent_sales", { redialOf: before.id });
    const act = { id: before.id, to: "REDIALED", redialedAs: redial.id, by: "ops" } as const;
    expect(await bench.rows.act([{ ...act, from: "PARKED", at: bench.now() }])).toEqual([true]);
    const token = (await bench.row(before.id))?.token ?? "";
    const late = { id: before.id, token, state: "PLACED", reason: "placed", at: 1 } as const;
    await bench.send({ kind: "outcome", settlement: late });
    await bench.deliver();
    await bench.send(messageOf(redial));
    await bench.deliver();
    expect(bench.dialed).toHaveLength(1);
    expect(await bench.row(redial.id)).toMatchObject({
      state: "CANCELLED",
      reason: "placed_before",
    });
    expect(bench.eventsOf("call.placed_before")).toMatchObject([{ level: "alarm" }]);
  });

  it("is made where the other is not known to be placed", async () => {
    const bench = createDialerBench();
    const redial = callTo("agent_sales", { redialOf: "call_gone" });
    await bench.send(messageOf(redial));
    await bench.deliver();
    expect(await stateOf(bench, redial)).toBe("PLACED");
  });
});

describe("what operators have said", () => {
  it("costs an account no probe of its hold", async () => {
    const bench = createDialerBench({ plan: { providers: { webhook: { callsPerSecond: 1 } } } });
    const { any, own } = listMarks(hashKey);
    const { numberHash } = traceOfNumber("+12025550123", hashKey);
    await bench.rows.addDoNotCall([numberHash, any, own], bench.now());
    let repaired = false;
    bench.answer = async () =>
      repaired ? { kind: "placed" } : { kind: "account_refused", code: "http_401" };
    const good = (n: number) =>
      aCall({
        acceptedAt: bench.now() + n,
        request: { phone_number: "+12025550124", agent_id: "agent_sales" },
      });
    const first = good(0);
    await bench.send(messageOf(first));
    await bench.deliver();
    expect(bench.eventsOf("account.held")).toHaveLength(1);
    repaired = true;
    const listed = Array.from({ length: 20 }, (_, n) =>
      callTo("agent_sales", { acceptedAt: bench.now() + 1 + n }),
    );
    const behind = Array.from({ length: 5 }, (_, n) => good(100 + n));
    await bench.send(...listed.map(messageOf), ...behind.map(messageOf));
    await bench.run(3600);
    for (const call of listed) expect(await stateOf(bench, call)).toBe("REJECTED");
    for (const call of [first, ...behind]) expect(await stateOf(bench, call)).toBe("PLACED");
  });

  it("keeps no paced account from its rate, however slow the ledger is", async () => {
    const bench = createDialerBench({ plan: { providers: { webhook: { callsPerSecond: 1 } } } });
    const slow =
      <Words extends unknown[], Answer>(method: (...words: Words) => Promise<Answer>) =>
      async (...words: Words) => {
        await bench.sleep(200);
        return method(...words);
      };
    const { rows } = bench;
    bench.breakLedger({
      read: slow(rows.read),
      claim: slow(rows.claim),
      settle: slow(rows.settle),
      reserve: slow(rows.reserve),
      ordersFor: slow(rows.ordersFor),
      doNotCall: slow(rows.doNotCall),
    });
    const calls = Array.from({ length: 300 }, (_, n) => callTo("agent_sales", { acceptedAt: n }));
    await bench.send(...calls.map(messageOf));
    await bench.simulate(310);
    expect(bench.dialed.length).toBeGreaterThanOrEqual(270);
    expect(bench.dialed.length).toBeLessThanOrEqual(312);
  });
});

describe("the story of a call", () => {
  it("tells its waits once, its attempts and its look-ups", async () => {
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
    await bench.send(messageOf(call));
    await bench.run(500);
    const row = await bench.row(call.id);
    const steps = row?.history.map(({ state, reason }) => `${state} ${reason}`) ?? [];
    expect(steps.filter((step) => step !== "UNKNOWN not_found")).toEqual([
      "DEFERRED hours:callingHours.default",
      "DIALING claimed",
      "DEFERRED http_429",
      "DIALING claimed",
      "UNKNOWN http_500",
      "PARKED outcome_unknown",
    ]);
    const misses = steps.filter((step) => step === "UNKNOWN not_found").length;
    expect(misses).toBeGreaterThanOrEqual(4);
    expect(misses).toBeLessThanOrEqual(10);
    expect(row?.history[0]).toEqual({
      at: expect.any(Number),
      state: "DEFERRED",
      reason: "hours:callingHours.default",
      dueAt: Date.parse("2026-06-01T13:00:00Z"),
    });
    expect(JSON.stringify(row?.history)).not.toContain("2025550123");
  });

  it("stays short, however often a call is sent back", async () => {
    const bench = createDialerBench();
    bench.answer = async () => ({ kind: "not_placed", code: "http_429", retryAfterSeconds: 5 });
    const call = callTo("agent_sales");
    await bench.send(messageOf(call));
    await bench.run(3600);
    expect(bench.dialed.length).toBeGreaterThan(200);
    expect((await bench.row(call.id))?.history.length).toBeLessThanOrEqual(42);
  });
});
