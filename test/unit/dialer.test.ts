import { describe, expect, it } from "vitest";
import { handleDeadLetters } from "../../functions/dialer/dead-letters.ts";
import { systemClock } from "../../functions/dialer/dialer.ts";
import { isReminded } from "../../functions/dialer/sweep.ts";
import { callId } from "../../shared/call.ts";
import type { Message } from "../../shared/message.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import { aCall } from "../support/calls.ts";
import { createDialerBench } from "../support/dialer.ts";
import { testPlan } from "../support/environment.ts";

const messageOf = (call = aCall()) => ({ kind: "call", call }) as const;
const boom = async () => {
  throw new Error("the network broke, with +12025550123 in its message");
};
const unknown: DialOutcome = { kind: "unknown", code: "time_out" };

describe("a call", () => {
  it("is claimed, dialed once, settled, and then acknowledged", async () => {
    const bench = createDialerBench();
    const call = aCall();
    bench.answer = async ({ id }) => {
      expect(await bench.row(id)).toMatchObject({ state: "DIALING", attempt: 1 });
      return { kind: "placed", providerCallId: "CA1" };
    };
    await bench.send(messageOf(call));
    expect(await bench.deliver()).toEqual(["acknowledge"]);
    expect(bench.dialed).toEqual([
      { call, route: bench.plan.agents["agent_sales"], at: bench.now() },
    ]);
    expect(await bench.row(call.id)).toMatchObject({
      state: "PLACED",
      call: null,
      providerCallId: "CA1",
      numberTail: "23",
    });
    expect(bench.eventsOf("call.dialed")).toEqual([
      expect.objectContaining({
        call_id: call.id,
        provider: "webhook",
        attempt: 1,
        state: "PLACED",
      }),
    ]);
  });

  it("is dialed once however often its message comes, in one delivery or in many", async () => {
    const bench = createDialerBench();
    const message = messageOf();
    await bench.send(message, message, message);
    expect(await bench.deliver()).toEqual(["acknowledge", "acknowledge", "acknowledge"]);
    await bench.send(message);
    expect(await bench.deliver()).toEqual(["acknowledge"]);
    await bench.send({ kind: "due", id: message.call.id });
    await bench.run(600);
    expect(bench.dialed).toHaveLength(1);
  });

  it("is dialed once by two dialers that were handed it at the same time", async () => {
    const bench = createDialerBench();
    const message = messageOf();
    await bench.send(message);
    const first = bench.deliver();
    await bench.send(message);
    const second = bench.deliver();
    expect([await first, await second]).toEqual([["acknowledge"], ["acknowledge"]]);
    expect(bench.dialed).toHaveLength(1);
  });

  it("ends EXPIRED once its time is over", async () => {
    const bench = createDialerBench({ plan: { expireAfterHours: 1 } });
    const call = aCall({ acceptedAt: bench.now() - 3_600_000 });
    await bench.send(messageOf(call));
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await bench.row(call.id)).toMatchObject({ state: "EXPIRED", call });
  });

  it("is not dialed after its time, though its lane came late", async () => {
    const bench = createDialerBench({ lanes: 1, plan: { expireAfterHours: 0.05 } });
    bench.answer = async () => {
      bench.advance(29_000);
      return { kind: "placed" };
    };
    const calls = Array.from({ length: 20 }, () => aCall({ acceptedAt: bench.now() }));
    await bench.send(...calls.map((call) => messageOf(call)));
    await bench.deliver();
    expect(bench.dialed).toHaveLength(7); // the last at 174 of 180 s
    const rows = await bench.rows.list({ state: "EXPIRED", limit: 20 });
    expect(rows).toHaveLength(13);
  });

  it("keeps the time that a provider asked for, whatever an older delivery decides", async () => {
    const bench = createDialerBench();
    const call = aCall();
    bench.breakLedger({
      // This delivery reads before the other one has dialed, and decides after.
      async read() {
        await bench.rows.defer([
          {
            call,
            numberHash: "",
            numberTail: "",
            state: "DEFERRED",
            reason: "http_429",
            at: bench.now(),
            dueAt: bench.now() + 3_600_000,
            seenDueAt: null,
          },
        ]);
        return new Map();
      },
    });
    await bench.send(messageOf(call));
    expect(await bench.deliver(30_000)).toEqual(["acknowledge"]); // no time left: it would defer by 5 s
    expect(await bench.row(call.id)).toMatchObject({ reason: "http_429" });
  });

  it("ends PARKED without a route and REJECTED where the plan permits it no longer", async () => {
    const bench = createDialerBench();
    const gone = aCall({ request: { phone_number: "+12025550123", agent_id: "agent_gone" } });
    const denied = aCall({ request: { phone_number: "+18765550123", agent_id: "agent_sales" } });
    await bench.send(messageOf(gone), messageOf(denied));
    expect(await bench.deliver()).toEqual(["acknowledge", "acknowledge"]);
    expect(bench.dialed).toEqual([]);
    expect(await bench.row(gone.id)).toMatchObject({
      state: "PARKED",
      reason: "no_route",
      call: gone,
    });
    expect(await bench.row(denied.id)).toMatchObject({
      state: "REJECTED",
      reason: "destination_denied",
      call: denied,
    });
  });
});

describe("an outcome", () => {
  it.each<[DialOutcome, string]>([
    [{ kind: "rejected", code: "http_422" }, "REJECTED"],
    [{ kind: "forbidden", code: "http_403" }, "PARKED"],
    [unknown, "PARKED"],
  ])("%o is dialed once and ends %s with its payload", async (outcome, state) => {
    const bench = createDialerBench();
    bench.answer = async () => outcome;
    const call = aCall();
    await bench.send(messageOf(call));
    await bench.run(900);
    expect(bench.dialed).toHaveLength(1);
    expect(await bench.row(call.id)).toMatchObject({ state, call });
  });

  it("that is unknown stays UNKNOWN for parkAfterSeconds", async () => {
    const bench = createDialerBench({ plan: { parkAfterSeconds: 200 } });
    bench.answer = async () => unknown;
    const call = aCall();
    await bench.send(messageOf(call));
    await bench.run(195);
    expect(await bench.row(call.id)).toMatchObject({ state: "UNKNOWN", reason: "time_out", call });
    await bench.run(70);
    expect(await bench.row(call.id)).toMatchObject({ state: "PARKED", reason: "outcome_unknown" });
    expect(bench.eventsOf("call.parked")).toHaveLength(1);
  });

  it("of 429 is dialed again at its Retry-After, and not before", async () => {
    const bench = createDialerBench();
    const times: number[] = [];
    bench.answer = async () => {
      times.push(bench.now());
      return times.length === 1
        ? { kind: "not_placed", code: "http_429", retryAfterSeconds: 30 }
        : { kind: "placed" };
    };
    const call = aCall();
    await bench.send(messageOf(call));
    await bench.run(120);
    expect(times).toHaveLength(2);
    const waited = (times[1] ?? 0) - (times[0] ?? 0);
    expect(waited).toBeGreaterThanOrEqual(30_000);
    expect(waited).toBeLessThan(40_000);
    expect(await bench.row(call.id)).toMatchObject({ state: "PLACED", attempt: 2 });
  });

  it("that keeps being not placed is tried ever more rarely, and ends EXPIRED", async () => {
    const bench = createDialerBench({ plan: { expireAfterHours: 1 } });
    bench.answer = async () => ({ kind: "not_placed", code: "econnrefused" });
    const call = aCall({ acceptedAt: bench.now() });
    await bench.send(messageOf(call));
    await bench.run(3700);
    expect(bench.dialed.length).toBeGreaterThan(8);
    expect(bench.dialed.length).toBeLessThan(20);
    expect(await bench.row(call.id)).toMatchObject({ state: "EXPIRED", call });
  });

  it("of 429 without a time to come back is tried ever more rarely", async () => {
    const bench = createDialerBench();
    bench.answer = async () => ({ kind: "not_placed", code: "http_429" });
    await bench.send(messageOf());
    await bench.run(600);
    expect(bench.dialed.length).toBeGreaterThan(3);
    expect(bench.dialed.length).toBeLessThan(10);
  });

  it("is written before anything else is kept count of", async () => {
    const bench = createDialerBench();
    await bench.rows.strike({
      name: "account:webhook:http://127.0.0.1:9",
      code: "x",
      holdFrom: 9,
      probeAt: 0,
      at: 0,
    });
    let stateAtClear: string | undefined;
    const call = aCall();
    bench.breakLedger({
      async clearHold(name) {
        stateAtClear ??= (await bench.row(call.id))?.state;
        return bench.rows.clearHold(name);
      },
    });
    await bench.send(messageOf(call));
    await bench.deliver();
    expect(stateAtClear).toBe("PLACED");
  });

  it("of a provider that throws is unknown", async () => {
    const bench = createDialerBench();
    bench.answer = boom;
    const call = aCall();
    await bench.send(messageOf(call));
    expect(await bench.deliver()).toEqual(["acknowledge"]);
    expect(await bench.row(call.id)).toMatchObject({ state: "UNKNOWN", reason: "provider_threw" });
  });
});

describe("an idempotent provider", () => {
  const plan = {
    agents: {
      agent_sales: { provider: "webhook", url: "http://127.0.0.1:9/dial", idempotent: true },
    },
  };

  it("is sent an unknown call again under the same id, until it answers", async () => {
    const bench = createDialerBench({ plan });
    bench.answer = async () => (bench.dialed.length < 3 ? unknown : { kind: "placed" });
    const call = aCall();
    await bench.send(messageOf(call));
    await bench.run(200);
    expect(bench.dialed.map((one) => one.call.id)).toEqual([call.id, call.id, call.id]);
    expect(await bench.row(call.id)).toMatchObject({ state: "PLACED", resent: true, attempt: 3 });
  });

  it("is sent it where the first request went, though the plan has changed", async () => {
    const bench = createDialerBench({ plan });
    bench.answer = async () => (bench.dialed.length < 2 ? unknown : { kind: "placed" });
    const call = aCall();
    await bench.send(messageOf(call));
    await bench.deliver();
    bench.plan.agents["agent_sales"] = {
      provider: "webhook",
      type: "webhook",
      url: "http://127.0.0.1:9/moved",
      idempotent: true,
    };
    await bench.run(120);
    expect(bench.dialed.map(({ route }) => "url" in route && route.url)).toEqual([
      "http://127.0.0.1:9/dial",
      "http://127.0.0.1:9/dial",
    ]);
  });

  it.each<DialOutcome>([
    { kind: "rejected", code: "http_422" },
    { kind: "not_placed", code: "http_429", retryAfterSeconds: 1 },
    unknown,
  ])("that answers %o the second time leaves the call PARKED", async (second) => {
    const bench = createDialerBench({ plan });
    bench.answer = async () => (bench.dialed.length < 2 ? unknown : second);
    const call = aCall();
    await bench.send(messageOf(call));
    await bench.run(600);
    expect(await bench.row(call.id)).toMatchObject({ state: "PARKED", call });
  });
});

/** A dialer that freezes in its request, until the sweep has parked its call. */
async function freezeUntilParked() {
  const bench = createDialerBench();
  const call = aCall();
  let answer: (outcome: DialOutcome) => void = () => undefined;
  bench.answer = () => new Promise((resolve) => (answer = resolve));
  await bench.send(messageOf(call));
  const frozen = bench.deliver();
  await expect.poll(() => bench.dialed.length).toBe(1);
  await bench.run(600);
  expect(await bench.row(call.id)).toMatchObject({ state: "PARKED" });
  const thaw = async (outcome: DialOutcome) => {
    answer(outcome);
    await frozen;
  };
  return { bench, call, thaw };
}

describe("a crash or a broken ledger", () => {
  it("after the claim leaves the call UNKNOWN past its deadline, then PARKED, never dialed again", async () => {
    const bench = createDialerBench();
    const call = aCall();
    let killed = false;
    bench.answer = () => {
      killed = true;
      return new Promise(() => undefined); // the function dies here
    };
    await bench.send(messageOf(call));
    void bench.deliver();
    await expect.poll(() => killed).toBe(true);
    await bench.send(messageOf(call)); // the queue delivers again
    await bench.run(50);
    expect(await bench.row(call.id)).toMatchObject({ state: "DIALING" });
    await bench.run(70);
    expect(await bench.row(call.id)).toMatchObject({
      state: "UNKNOWN",
      reason: "claim_lapsed",
      call,
    });
    await bench.run(400);
    expect(await bench.row(call.id)).toMatchObject({ state: "PARKED", call });
    expect(bench.dialed).toHaveLength(1);
  });

  it("lets a holder that thaws after its call was parked say that it was placed", async () => {
    const { bench, call, thaw } = await freezeUntilParked();
    await thaw({ kind: "placed" });
    expect(await bench.row(call.id)).toMatchObject({ state: "PLACED", call: null });
    expect(bench.dialed).toHaveLength(1);
  });

  it("keeps a holder that thaws after its call was parked from making it wait again", async () => {
    const { bench, call, thaw } = await freezeUntilParked();
    await thaw({ kind: "not_placed", code: "http_429" });
    await bench.run(600);
    expect(await bench.row(call.id)).toMatchObject({ state: "PARKED", call });
    expect(bench.dialed).toHaveLength(1);
  });

  it("does not dial a claim that has grown old while the function was frozen", async () => {
    const bench = createDialerBench();
    const call = aCall();
    bench.breakLedger({
      async claim(claims) {
        const answer = await bench.rows.claim(claims);
        bench.advance(10_001);
        return answer;
      },
    });
    await bench.send(messageOf(call));
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await bench.row(call.id)).toMatchObject({ state: "DEFERRED", reason: "claim_too_old" });
    bench.mendLedger();
    await bench.run(60);
    expect(bench.dialed).toHaveLength(1);
  });

  it("dials a call whose claim took effect though its answer was lost", async () => {
    const bench = createDialerBench();
    const call = aCall();
    bench.breakLedger({
      async claim(claims) {
        await bench.rows.claim(claims);
        return boom();
      },
    });
    await bench.send(messageOf(call));
    expect(await bench.deliver()).toEqual(["acknowledge"]);
    expect(bench.dialed).toHaveLength(1);
    expect(await bench.row(call.id)).toMatchObject({ state: "PLACED" });
  });

  it("dials no call whose claim failed, and hands its message back", async () => {
    const bench = createDialerBench();
    bench.breakLedger({ claim: boom });
    await bench.send(messageOf());
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 60 }]);
    expect(bench.dialed).toEqual([]);
    bench.mendLedger();
    await bench.run(61);
    expect(bench.dialed).toHaveLength(1);
  });

  it("hands the rest of a delivery back after the first claim that can be neither made nor read", async () => {
    const bench = createDialerBench({ lanes: 1 });
    let reads = 0;
    let claims = 0;
    bench.breakLedger({
      read: (ids) => (reads++ === 0 ? bench.rows.read(ids) : boom()),
      claim: () => {
        claims += 1;
        return boom();
      },
    });
    await bench.send(...Array.from({ length: 10 }, () => messageOf()));
    const dispositions = await bench.deliver();
    expect(dispositions).toEqual(Array.from({ length: 10 }, () => ({ retryAfterSeconds: 60 })));
    expect([bench.dialed.length, claims]).toEqual([0, 1]);
  });

  it("dials nobody where the ledger cannot be read, and grows the time between attempts", async () => {
    const bench = createDialerBench();
    bench.breakLedger({ read: boom });
    await bench.send(messageOf());
    const delays: unknown[] = [];
    for (let n = 0; n < 7; n++) {
      const [disposition] = await bench.deliver();
      delays.push(typeof disposition === "object" && disposition.retryAfterSeconds);
      bench.advance(900_000);
    }
    expect(delays).toEqual([60, 120, 240, 480, 900, 900, 900]);
    expect(bench.dialed).toEqual([]);
    bench.mendLedger();
    await bench.deliver();
    expect(bench.dialed).toHaveLength(1);
  });

  it("repeats a failed settlement as a write, never as a call", async () => {
    const bench = createDialerBench();
    const call = aCall();
    let failures = 2;
    bench.breakLedger({
      settle: (settlements) => (failures-- > 0 ? boom() : bench.rows.settle(settlements)),
    });
    await bench.send(messageOf(call));
    expect(await bench.deliver()).toEqual(["acknowledge"]);
    expect(bench.dialed).toHaveLength(1);
    expect(await bench.row(call.id)).toMatchObject({ state: "PLACED" });
  });

  it("puts a settlement that keeps failing onto the queue, and settles it later", async () => {
    const bench = createDialerBench();
    const call = aCall();
    bench.breakLedger({ settle: boom });
    await bench.send(messageOf(call));
    expect(await bench.deliver()).toEqual(["acknowledge"]);
    expect(bench.queued()).toEqual([
      { kind: "outcome", settlement: expect.objectContaining({ id: call.id, state: "PLACED" }) },
    ]);
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 60 }]);
    bench.mendLedger();
    await bench.run(62);
    expect(bench.dialed).toHaveLength(1);
    expect(await bench.row(call.id)).toMatchObject({ state: "PLACED" });
  });

  it("loses no placed call where neither ledger nor queue takes its outcome", async () => {
    const bench = createDialerBench();
    const call = aCall();
    const send = bench.deps.queue.send;
    bench.breakLedger({ settle: boom });
    await bench.send(messageOf(call));
    bench.deps.queue.send = boom;
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 60 }]);
    bench.deps.queue.send = send;
    bench.mendLedger();
    await bench.run(700);
    expect(bench.dialed).toHaveLength(1);
    expect(await bench.row(call.id)).toMatchObject({ state: "PARKED", call });
  });

  it("says nothing of an error's message, which may quote what it was given", async () => {
    const bench = createDialerBench();
    bench.breakLedger({ claim: boom, settle: boom });
    await bench.send(messageOf());
    await bench.deliver();
    expect(bench.eventsOf("ledger.unreachable")).not.toEqual([]);
    expect(JSON.stringify(bench.events)).not.toMatch(/\+?1202555/);
  });
});

describe("a delivery", () => {
  it("runs no more requests at once than it has lanes, or the account's concurrency", async () => {
    for (const [lanes, concurrency, most] of [
      [5, 100, 5],
      [5, 2, 2],
    ] as const) {
      const bench = createDialerBench({ lanes, plan: { providers: { webhook: { concurrency } } } });
      let underWay = 0;
      let peak = 0;
      bench.answer = async () => {
        peak = Math.max(peak, ++underWay);
        await new Promise((next) => setTimeout(next, 1));
        underWay -= 1;
        return { kind: "placed" };
      };
      await bench.send(...Array.from({ length: 30 }, () => messageOf()));
      await bench.deliver();
      expect([bench.dialed.length, peak]).toEqual([30, most]);
    }
  });

  it("claims each call only when its lane is about to dial", async () => {
    const bench = createDialerBench({ lanes: 2 });
    const calls = Array.from({ length: 10 }, () => aCall());
    let claimedAtOnce = 0;
    bench.answer = async () => {
      const rows = [...(await bench.rows.read(calls.map(({ id }) => id))).values()];
      claimedAtOnce = Math.max(
        claimedAtOnce,
        rows.filter(({ state }) => state === "DIALING").length,
      );
      return { kind: "placed" };
    };
    await bench.send(...calls.map((call) => messageOf(call)));
    await bench.deliver();
    expect(claimedAtOnce).toBeLessThanOrEqual(2);
  });

  it("claims nothing that it has no time left for, and dials it later", async () => {
    const bench = createDialerBench();
    const call = aCall();
    await bench.send(messageOf(call));
    expect(await bench.deliver(54_999)).toEqual(["acknowledge"]);
    expect(await bench.row(call.id)).toMatchObject({
      state: "DEFERRED",
      reason: "no_time",
      attempt: 0,
    });
    await bench.run(20);
    expect(bench.dialed).toHaveLength(1);
  });

  it("shares round trips between claims made at the same moment", async () => {
    const bench = createDialerBench({ lanes: 5 });
    const sizes: number[] = [];
    bench.breakLedger({
      claim: (claims) => {
        sizes.push(claims.length);
        return bench.rows.claim(claims);
      },
    });
    await bench.send(...Array.from({ length: 20 }, () => messageOf()));
    await bench.deliver();
    expect(sizes).toEqual([5, 5, 5, 5]);
  });

  it("asks the ledger 44 times for a hundred fresh calls in five lanes", async () => {
    const bench = createDialerBench({ lanes: 5 });
    const asked: Record<string, number> = {};
    bench.deps.ledger = new Proxy(bench.rows, {
      get(rows, name, receiver) {
        asked[String(name)] = (asked[String(name)] ?? 0) + 1;
        return Reflect.get(rows, name, receiver);
      },
    });
    // As functions sleep: a timer for each would part the lanes.
    bench.deps.clock.sleep = systemClock.sleep;
    await bench.send(...Array.from({ length: 100 }, () => messageOf()));
    await bench.deliver();
    expect(bench.dialed).toHaveLength(100);
    // Of the counts, only DynamoDB has anything to write.
    const once = { read: 1, holds: 1, ordersFor: 1, doNotCall: 1, writeCounts: 1 };
    expect(asked).toEqual({ ...once, claim: 20, settle: 20 });
  });

  it("writes the hours' counts once a delivery, and does without where it cannot", async () => {
    const bench = createDialerBench({ lanes: 1 });
    let written = 0;
    bench.breakLedger({
      async writeCounts() {
        written += 1;
        throw new Error("down");
      },
    });
    await bench.send(messageOf(), messageOf());
    expect(await bench.deliver()).toEqual(["acknowledge", "acknowledge"]);
    expect(written).toBe(1);
    expect(bench.eventsOf("counts.lost")).toMatchObject([{ level: "warning" }]);
  });

  it("dials nobody where the settings are wrong, and hands everything back", async () => {
    const bench = createDialerBench();
    bench.deps.settings = { problem: "HASH_KEY is not set" };
    await bench.send(messageOf(), { kind: "sweep" });
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 60 }, { retryAfterSeconds: 60 }]);
    expect(bench.eventsOf("dialer.not_configured")).toHaveLength(1);
  });

  it("hands back what it cannot read, and does the rest", async () => {
    const bench = createDialerBench();
    bench.sendBody({ kind: "call", call: { id: "x" } });
    bench.sendBody({ ...messageOf(), later: "a field of a newer version" });
    bench.sendBody("nothing");
    await bench.send(messageOf());
    const back = { retryAfterSeconds: 60 };
    expect(await bench.deliver()).toEqual([back, back, back, "acknowledge"]);
    expect(bench.eventsOf("message.unreadable")).toHaveLength(3);
    expect(bench.dialed).toHaveLength(1);
  });
});

describe("a batch", () => {
  const batch = (count: number): Message => ({
    kind: "batch",
    requestId: "req_1",
    client: "crm",
    acceptedAt: 1_000_000,
    seed: "seed",
    firstIndex: 0,
    calls: Array.from({ length: count }, () => aCall().request),
  });

  it("is split into a message a call, and each is dialed once though it is split twice", async () => {
    const bench = createDialerBench();
    await bench.send(batch(50), batch(50));
    await bench.deliver();
    expect(bench.queued()).toHaveLength(100);
    await bench.deliver();
    const ids = bench.dialed.map(({ call }) => call.id);
    expect(ids.toSorted()).toEqual(
      Array.from({ length: 50 }, (_, index) => callId("seed", index)).toSorted(),
    );
  });

  it("that is throttled half-way sends the rest again, under the same ids", async () => {
    const bench = createDialerBench();
    const { sendMany } = bench.deps.queue;
    let left = 20;
    bench.deps.queue.sendMany = async (messages) => {
      const taken = messages.slice(0, left);
      left = 20;
      return sendMany(taken);
    };
    await bench.send(batch(50));
    expect(await bench.deliver()).toEqual(["acknowledge"]);
    await bench.run(60);
    const ids = bench.dialed.map(({ call }) => call.id);
    expect(new Set(ids).size).toBe(50);
    expect(ids).toHaveLength(50);
    expect(ids).toContain(callId("seed", 49));
  });

  it("of which nothing could be split is handed back whole", async () => {
    const bench = createDialerBench();
    bench.deps.queue.sendMany = async () => 0;
    await bench.send(batch(3));
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 60 }]);
  });

  it("too many for one delivery come again soon", async () => {
    const bench = createDialerBench();
    await bench.send(batch(20_000), batch(10_000), batch(1));
    const soon = { retryAfterSeconds: 1 };
    expect(await bench.deliver()).toEqual(["acknowledge", soon, "acknowledge"]);
  });
});

describe("the sweep", () => {
  it("reminds of rows within its horizon at their second, and of no others", async () => {
    const bench = createDialerBench();
    const wait = (dueAt: number) => ({
      call: aCall(),
      numberHash: "",
      numberTail: "",
      state: "DEFERRED" as const,
      reason: "x",
      at: bench.now(),
      seenDueAt: null,
      dueAt,
    });
    await bench.rows.defer([-5000, 30_001, 119_000, 121_000].map((ms) => wait(bench.now() + ms)));
    await bench.rows.swept(bench.now() - 125_000);
    await bench.send({ kind: "sweep" });
    expect(await bench.deliver()).toEqual(["acknowledge"]);
    expect(bench.queued().map(({ kind }) => kind)).toEqual(["due", "due"]);
    expect(bench.delays()).toEqual([31, 119]);
  });

  it("reminds of what is overdue ever more rarely, but of unknown outcomes always", () => {
    const minute = 60_000;
    const at = (minutes: number, more: { reason?: string; state?: "DEFERRED" | "UNKNOWN" } = {}) =>
      isReminded(
        { dueAt: 0, reason: "x", state: "DEFERRED", ...more },
        { last: (minutes - 1) * minute + 5000, now: minutes * minute + 5000, sweepMs: minute },
      );
    const minutes = Array.from({ length: 24 * 60 }, (_, n) => n).slice(2);
    const reminded = minutes.filter((n) => at(n));
    expect(reminded.filter((n) => n < 60)).toEqual([4, 16]);
    expect(reminded).toHaveLength(2 + Math.floor((24 * 60 - 1) / 64));
    expect([at(-2), at(-2, { reason: "slot" }), at(4, { reason: "slot" })]).toEqual([
      true,
      false,
      true,
    ]);
    expect(minutes.every((n) => at(n, { state: "UNKNOWN" }))).toBe(true);
  });

  it.each([3, 10, 40, 90, 1000])(
    "reminds at once of what came due while nothing was swept for %i minutes",
    async (minutes) => {
      const bench = createDialerBench();
      await bench.send({ kind: "sweep" });
      await bench.deliver();
      const entry = { numberHash: "", numberTail: "", state: "DEFERRED", reason: "x" } as const;
      const dueAt = bench.now() + 180_000;
      const [call, at] = [aCall({ acceptedAt: bench.now() }), bench.now()];
      await bench.rows.defer([{ ...entry, call, at, dueAt, seenDueAt: null }]);
      bench.advance(180_000 + minutes * 60_000);
      await bench.send({ kind: "sweep" });
      await bench.deliver();
      await bench.deliver();
      expect(bench.dialed).toHaveLength(1);
    },
  );

  it("reminds of all that is due once the queue has been lost", async () => {
    const bench = createDialerBench();
    const entry = { numberHash: "", numberTail: "", state: "DEFERRED", reason: "x" } as const;
    const dueAt = bench.now() + 1000;
    await bench.rows.defer([{ ...entry, call: aCall(), at: bench.now(), dueAt, seenDueAt: null }]);
    await bench.rows.swept(bench.now());
    bench.advance(30_000);
    await bench.send({ kind: "sweep" });
    await bench.deliver();
    expect(bench.queued()).toEqual([]);
    await bench.send({ kind: "sweep", since: 0 });
    await bench.deliver();
    expect(bench.queued()).toEqual([{ kind: "due", id: expect.any(String) }]);
  });

  it("pages through any number of rows, in messages of their own", async () => {
    const bench = createDialerBench();
    const at = bench.now();
    const count = 12_000;
    const entry = {
      numberHash: "",
      numberTail: "",
      state: "DEFERRED",
      reason: "x",
      at,
      seenDueAt: null,
    } as const;
    await bench.rows.defer(
      Array.from({ length: count }, () => ({ ...entry, call: aCall(), dueAt: at + 60_000 })),
    );
    await bench.send({ kind: "sweep" });
    for (let n = 0; n < 3; n++) await bench.deliver();
    const due = bench.queued().flatMap((message) => (message.kind === "due" ? message.id : []));
    expect([due.length, new Set(due).size]).toEqual([count, count]);
  });

  it("that is throttled goes on from there", async () => {
    const bench = createDialerBench();
    const { sendMany } = bench.deps.queue;
    const at = bench.now();
    const entry = { numberHash: "", numberTail: "", state: "DEFERRED", reason: "x" } as const;
    await bench.rows.defer(
      Array.from({ length: 100 }, () => ({
        ...entry,
        call: aCall(),
        at,
        dueAt: at + 60_000,
        seenDueAt: null,
      })),
    );
    bench.deps.queue.sendMany = (messages) => sendMany(messages.slice(0, 30));
    await bench.send({ kind: "sweep" });
    for (let n = 0; n < 4; n++) await bench.deliver();
    const due = bench.queued().flatMap((message) => (message.kind === "due" ? message.id : []));
    expect([due.length, new Set(due).size]).toEqual([100, 100]);
  });

  it("is not taken for done where the queue took nothing of it, or a part of it was lost", async () => {
    const at = 1_000_000;
    const entry = { numberHash: "", numberTail: "", state: "DEFERRED", reason: "x", at } as const;
    const swept = async (count: number, taken: (one: number) => number) => {
      const bench = createDialerBench();
      const { sendMany } = bench.deps.queue;
      await bench.rows.swept(at);
      await bench.rows.defer(
        Array.from({ length: count }, () => ({
          ...entry,
          call: aCall({ acceptedAt: at }),
          dueAt: at + 200_000,
          seenDueAt: null,
        })),
      );
      bench.advance(3_600_000); // nothing was swept when they came due
      let calls = 0;
      bench.deps.queue.sendMany = (messages) => sendMany(messages.slice(0, taken(++calls)));
      await bench.send({ kind: "sweep" });
      await bench.deliver();
      return bench;
    };
    const throttled = await swept(10, () => 0);
    expect(await throttled.rows.sweptAt()).toBe(at);
    expect(throttled.eventsOf("sweep.failed")).toHaveLength(1);

    const large = await swept(6000, () => 500);
    expect(await large.rows.sweptAt()).toBe(at); // the rest is a message of its own
    large.breakLedger({ due: boom });
    await large.deliver();
    large.mendLedger();
    expect(await large.rows.sweptAt()).toBe(at);
    await large.send({ kind: "sweep" });
    for (let n = 0; n < 3; n++) await large.deliver();
    expect(await large.rows.sweptAt()).toBe(large.now());
  });

  it("does one sweep of several that piled up", async () => {
    const bench = createDialerBench();
    let sweeps = 0;
    bench.breakLedger({
      due: (query) => {
        sweeps += 1;
        return bench.rows.due(query);
      },
    });
    await bench.send({ kind: "sweep" }, { kind: "sweep" }, { kind: "sweep" });
    expect(await bench.deliver()).toEqual(["acknowledge", "acknowledge", "acknowledge"]);
    expect(sweeps).toBe(1);
  });

  it("purges what is past its retention, and says so of what was never resolved", async () => {
    const bench = createDialerBench({ plan: { retentionDays: 40 } });
    const [placed, parked] = [aCall(), aCall()];
    bench.answer = async ({ id }) =>
      id === placed.id ? { kind: "placed" } : { kind: "forbidden", code: "http_403" };
    await bench.send(messageOf(placed), messageOf(parked));
    await bench.deliver();
    bench.advance(41 * 86_400_000);
    bench.breakLedger({ purge: boom });
    await bench.send({ kind: "sweep" });
    await bench.deliver();
    expect(bench.eventsOf("call.purged")).toHaveLength(1); // said before it is done
    bench.mendLedger();
    await bench.send({ kind: "sweep" });
    await bench.deliver();
    expect([await bench.row(placed.id), await bench.row(parked.id)]).toEqual([
      undefined,
      undefined,
    ]);
    expect(bench.eventsOf("call.purged").slice(-1)).toEqual([
      expect.objectContaining({ level: "alarm", call_id: parked.id, state: "PARKED" }),
    ]);
  });
});

describe("a hold", () => {
  it("of an account keeps its calls waiting, probes with one, and ends with a success", async () => {
    const bench = createDialerBench();
    let broken = true;
    bench.answer = async () =>
      broken ? { kind: "account_refused", code: "http_401" } : { kind: "placed" };
    const calls = Array.from({ length: 20 }, () => aCall());
    await bench.send(...calls.map((call) => messageOf(call)));
    await bench.run(30);
    expect(bench.eventsOf("account.held")).not.toEqual([]);
    const triedAtFirst = bench.dialed.length;
    expect(triedAtFirst).toBeLessThanOrEqual(5); // what was under way when the first answer came
    await bench.run(1800);
    expect(bench.dialed.length - triedAtFirst).toBeLessThanOrEqual(6);
    broken = false;
    await bench.run(2400);
    const rows = await bench.rows.read(calls.map(({ id }) => id));
    expect([...rows.values()].map(({ state }) => state)).toEqual(calls.map(() => "PLACED"));
    expect(await bench.rows.holds()).toEqual([]);
    expect(bench.eventsOf("hold.released")).toHaveLength(1);
  });

  it("waits a minute for its first probe, however many calls were under way", async () => {
    const bench = createDialerBench();
    bench.answer = async () => ({ kind: "account_refused", code: "http_401" });
    await bench.send(...Array.from({ length: 20 }, () => messageOf()));
    await bench.deliver();
    const [hold] = await bench.rows.holds();
    expect(hold).toMatchObject({ count: 1, probeAt: bench.now() + 60_000 });
    expect(bench.eventsOf("account.held")).toHaveLength(1);
  });

  it("of one host leaves the calls to others alone", async () => {
    const url = "http://127.0.0.2:9/dial";
    const bench = createDialerBench({
      plan: {
        agents: {
          agent_sales: { provider: "webhook", url },
          agent_support: { ...testPlan.agents.agent_support },
        },
      },
    });
    bench.answer = async (_, route) =>
      "url" in route && route.url === url
        ? { kind: "account_refused", code: "http_401" }
        : { kind: "placed" };
    const toSupport = () =>
      messageOf(aCall({ request: { phone_number: "+12025550123", agent_id: "agent_support" } }));
    await bench.send(messageOf(), ...Array.from({ length: 30 }, toSupport));
    await bench.run(120);
    expect(await bench.rows.list({ state: "PLACED", limit: 50 })).toHaveLength(30);
  });

  it("probes with another call each time, so that one bad call does not hold the rest", async () => {
    const bench = createDialerBench();
    const fractions = [0.9, 0.1, 0.5, 0.7, 0.3];
    let drawn = 0;
    bench.deps.random.fraction = () => fractions[drawn++ % fractions.length] ?? 0;
    const bad = aCall({ id: "call_0" });
    bench.answer = async ({ id }) =>
      id === bad.id ? { kind: "account_refused", code: "http_401" } : { kind: "placed" };
    await bench.send(messageOf(bad));
    await bench.deliver();
    await bench.send(...Array.from({ length: 20 }, () => messageOf()));
    await bench.run(3600);
    expect(await bench.rows.list({ state: "PLACED", limit: 50 })).toHaveLength(20);
  });

  it("that is due for a probe is none while another still holds the call", async () => {
    const bench = createDialerBench();
    const at = bench.now();
    bench.answer = async () => ({ kind: "rejected", code: "http_404" });
    for (let n = 0; n < 5; n++) {
      await bench.send(messageOf());
      await bench.deliver();
    }
    const name = "account:webhook:http://127.0.0.1:9";
    await bench.rows.strike({ name, code: "http_401", holdFrom: 1, probeAt: at, at });
    await bench.send(messageOf());
    await bench.deliver();
    expect(bench.dialed).toHaveLength(5);
  });

  it("of a route follows five equal rejections in a row, and leaves other routes alone", async () => {
    const bench = createDialerBench({ lanes: 1 });
    bench.answer = async (_, route) =>
      "url" in route && route.url.endsWith("/support")
        ? { kind: "placed" }
        : { kind: "rejected", code: "http_404" };
    for (let n = 0; n < 8; n++) {
      await bench.send(messageOf());
      await bench.deliver();
    }
    expect(bench.dialed).toHaveLength(5);
    expect(bench.eventsOf("route.held")).toHaveLength(1);
    const waiting = await bench.rows.list({ state: "DEFERRED", limit: 10 });
    expect(waiting.map(({ reason }) => reason)).toEqual(["route_held", "route_held", "route_held"]);
    const other = aCall({ request: { phone_number: "+12025550123", agent_id: "agent_support" } });
    await bench.send(messageOf(other));
    await bench.deliver();
    expect(await bench.row(other.id)).toMatchObject({ state: "PLACED" });
  });

  it("of a route does not follow different rejections, nor a success between them", async () => {
    const bench = createDialerBench();
    const codes = [
      "http_404",
      "http_422",
      "",
      "http_404",
      "http_404",
      "http_404",
      "http_404",
      "http_400",
    ];
    for (const code of codes) {
      bench.answer = async () => (code === "" ? { kind: "placed" } : { kind: "rejected", code });
      await bench.send(messageOf());
      await bench.deliver();
    }
    expect(bench.dialed).toHaveLength(codes.length);
    expect(bench.eventsOf("route.held")).toEqual([]);
  });
});

describe("a dead letter", () => {
  const bury = (bench: ReturnType<typeof createDialerBench>, ...messages: unknown[]) =>
    handleDeadLetters(
      messages.map((message) => ({ attempt: 1, large: false, open: async () => message })),
      bench.deps,
    );

  it("of a call that has no row is PARKED, and dials nobody", async () => {
    const bench = createDialerBench();
    const call = aCall();
    expect(await bury(bench, messageOf(call))).toEqual(["acknowledge"]);
    expect(await bench.row(call.id)).toMatchObject({
      state: "PARKED",
      reason: "dead_letter",
      call,
    });
    expect(bench.dialed).toEqual([]);
  });

  it("of a call that has a row leaves it as it stands", async () => {
    const bench = createDialerBench();
    bench.answer = async () => ({ kind: "not_placed", code: "http_429", retryAfterSeconds: 900 });
    const call = aCall();
    await bench.send(messageOf(call));
    await bench.deliver();
    await bury(bench, messageOf(call));
    expect(await bench.row(call.id)).toMatchObject({ state: "DEFERRED" });
  });

  it("of a batch is recorded call by call", async () => {
    const bench = createDialerBench();
    const calls = Array.from({ length: 1200 }, () => aCall().request);
    const batch = {
      kind: "batch",
      requestId: "r",
      client: "c",
      acceptedAt: bench.now(),
      seed: "s",
    };
    await bury(bench, { ...batch, firstIndex: 5, calls });
    expect(await bench.row(callId("s", 5 + 1199))).toMatchObject({ state: "PARKED" });
    expect(await bench.rows.list({ state: "PARKED", limit: 2000 })).toHaveLength(1200);
  });

  it("older than its call's expiry is an event, not a row", async () => {
    const bench = createDialerBench({ plan: { expireAfterHours: 1 } });
    const call = aCall({ acceptedAt: bench.now() - 3_600_000 });
    expect(await bury(bench, messageOf(call))).toEqual(["acknowledge"]);
    expect(await bench.row(call.id)).toBeUndefined();
    expect(bench.eventsOf("call.expired")).toHaveLength(1);
  });

  it("of an outcome is settled", async () => {
    const bench = createDialerBench();
    const call = aCall();
    bench.breakLedger({ settle: boom });
    await bench.send(messageOf(call));
    await bench.deliver();
    bench.mendLedger();
    await bury(bench, ...bench.queued());
    expect(await bench.row(call.id)).toMatchObject({ state: "PLACED" });
  });

  it("that cannot be read or recorded waits for an hour", async () => {
    const bench = createDialerBench();
    bench.breakLedger({ defer: boom });
    const later = { retryAfterSeconds: 3600 };
    expect(await bury(bench, "nothing", messageOf())).toEqual([later, later]);
    bench.deps.settings = { problem: "HASH_KEY is not set" };
    expect(await bury(bench, messageOf())).toEqual([later]);
  });
});
