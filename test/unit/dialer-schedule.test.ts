import { describe, expect, it } from "vitest";
import type { Call } from "../../shared/call.ts";
import { aCall } from "../support/calls.ts";
import { createDialerBench } from "../support/dialer.ts";

type Bench = ReturnType<typeof createDialerBench>;

const webhook = { provider: "webhook", url: "http://127.0.0.1:9/dial" } as const;
const nine = { default: { "mon-sun": ["09:00-17:00"] } };
const numberOf = (index: number) => `+1303555${String(index).padStart(4, "0")}`;
const messageOf = (call: Call) => ({ kind: "call", call }) as const;

/** A call accepted now, in UTC unless it says otherwise. */
function callNow(bench: Bench, request: Partial<Call["request"]> = {}): Call {
  return aCall({
    acceptedAt: bench.now(),
    request: {
      phone_number: "+12125550100",
      agent_id: "agent_sales",
      timezone: "UTC",
      ...request,
    },
  });
}
const sendCalls = async (bench: Bench, count: number, request: Partial<Call["request"]> = {}) => {
  const calls = Array.from({ length: count }, (_, index) =>
    callNow(bench, { phone_number: numberOf(index), ...request }),
  );
  await bench.send(...calls.map(messageOf));
  return calls;
};
const iso = (at: number | null | undefined) =>
  at === null || at === undefined ? at : new Date(at).toISOString().slice(0, 19);

describe("calling hours", () => {
  it("keep a call waiting until they open, and it is dialed then", async () => {
    const bench = createDialerBench({ plan: { callingHours: nine }, startAt: "2026-06-01T08:00Z" });
    const [call] = await sendCalls(bench, 1);
    await bench.simulate(1);
    const { state, reason, dueAt } = (await bench.row(call?.id ?? "")) ?? {};
    expect([state, reason, iso(dueAt)]).toEqual([
      "DEFERRED",
      "hours:callingHours.default",
      "2026-06-01T09:00:00",
    ]);
    await bench.simulate(3590);
    expect(bench.dialed).toEqual([]);
    await bench.simulate(20);
    expect(bench.dialed.map(({ at }) => iso(at))).toEqual(["2026-06-01T09:00:00"]);
  });

  it("open zone by zone for a batch over many", async () => {
    const bench = createDialerBench({ plan: { callingHours: nine }, startAt: "2026-06-01T00:00Z" });
    const zones = {
      "Asia/Tokyo": "2026-06-01T00:00:00",
      "Asia/Kolkata": "2026-06-01T03:30:00",
      "Europe/Berlin": "2026-06-01T07:00:00",
      "Europe/London": "2026-06-01T08:00:00",
      "America/New_York": "2026-06-01T13:00:00",
      "America/Los_Angeles": "2026-06-01T16:00:00",
    };
    for (const timezone of Object.keys(zones).toReversed()) {
      await sendCalls(bench, 3, { timezone });
    }
    await bench.simulate(17 * 3600);
    const dialed = bench.dialed.map(({ call, at }) => [call.request.timezone, iso(at)]);
    expect(dialed).toEqual(Object.entries(zones).flatMap((one) => [one, one, one]));
  });

  it("take the zones from the number where the call names none", async () => {
    const plan = { callingHours: { default: "us-federal" } };
    const bench = createDialerBench({ plan, startAt: "2026-06-01T11:00Z" });
    const call = (phone_number: string) =>
      aCall({ acceptedAt: bench.now(), request: { phone_number, agent_id: "agent_sales" } });
    const [newYork, tollFree] = [call("+12125550100"), call("+18005550100")];
    await bench.send(messageOf(newYork), messageOf(tollFree));
    await bench.deliver();
    expect(iso((await bench.row(newYork.id))?.dueAt)).toBe("2026-06-01T12:00:00");
    // Open at once in all of the calling code's zones, from Guam to Hawaii.
    expect(iso((await bench.row(tollFree.id))?.dueAt)).toBe("2026-06-01T22:00:00");
  });

  it("end a call that a changed plan lets nobody dial any more, and say which rule it was", async () => {
    const bench = createDialerBench({ plan: { callingHours: nine }, startAt: "2026-06-01T08:00Z" });
    const [call] = await sendCalls(bench, 1);
    await bench.deliver();
    const dates = Array.from({ length: 9 }, (_, day) => `2026-06-0${day + 1}`);
    bench.changePlan({ callingHours: nine, blackoutDates: dates });
    await bench.simulate(3700);
    expect(await bench.row(call?.id ?? "")).toMatchObject({
      state: "EXPIRED",
      reason: "hours:blackoutDates",
      call: { request: { phone_number: numberOf(0) } },
    });
    expect(bench.dialed).toEqual([]);
    expect(bench.eventsOf("call.expired")).toHaveLength(1);
  });

  it("end a call whose zone nobody knows, where they are not always open", async () => {
    const bench = createDialerBench({ plan: { callingHours: nine }, startAt: "2026-06-01T10:00Z" });
    const request = { phone_number: "+18815550123", agent_id: "agent_sales" };
    bench.changePlan({ callingHours: nine, destinations: { allow: ["*"], deny: [] } });
    const call = aCall({ acceptedAt: bench.now(), request });
    await bench.send(messageOf({ ...call, request: { ...request, phone_number: "+88161234567" } }));
    await bench.deliver();
    expect(await bench.row(call.id)).toMatchObject({
      state: "EXPIRED",
      reason: "hours:no_time_zone",
    });
  });

  it("are looked at again when a lane comes late", async () => {
    const bench = createDialerBench({
      plan: { callingHours: nine },
      lanes: 1,
      startAt: "2026-06-01T16:59:10Z",
    });
    bench.answer = async () => {
      await bench.sleep(29_000);
      return { kind: "placed" };
    };
    const calls = await sendCalls(bench, 2);
    await bench.deliver();
    expect(bench.dialed).toHaveLength(1);
    const rows = await Promise.all(calls.map(({ id }) => bench.row(id)));
    expect(rows.map((row) => [row?.state, row?.attempt, iso(row?.dueAt)])).toEqual([
      ["PLACED", 1, null],
      ["DEFERRED", 0, "2026-06-02T09:00:00"],
    ]);
  });

  it("are looked at once more right before the request: closed by then, it waits undialed", async () => {
    const bench = createDialerBench({
      plan: { callingHours: nine, maxCalls: { count: 1, days: 1 } },
      startAt: "2026-06-01T16:59:24Z",
    });
    bench.breakLedger({
      async claim(claims) {
        const claimed = await bench.rows.claim(claims);
        bench.advance(7000);
        return claimed;
      },
    });
    const [call] = await sendCalls(bench, 1);
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    const row = await bench.row(call?.id ?? "");
    expect(row).toMatchObject({
      state: "DEFERRED",
      reason: "hours:callingHours.default",
      attempt: 1,
    });
    expect(iso(row?.dueAt)).toBe("2026-06-02T09:00:00");
    // And it was not counted: another call to the number may go first.
    bench.mendLedger();
    const other = callNow(bench, { phone_number: numberOf(0) });
    bench.changePlan({ maxCalls: { count: 1, days: 1 } });
    await bench.send(messageOf(other));
    await bench.deliver();
    expect(bench.dialed.map((one) => one.call.id)).toEqual([other.id]);
  });

  it("hold for a call that an idempotent provider would be sent again", async () => {
    const bench = createDialerBench({
      plan: {
        agents: { agent_sales: { ...webhook, idempotent: true } },
        callingHours: nine,
        parkAfterSeconds: 600,
      },
      startAt: "2026-06-01T16:59:20Z",
    });
    bench.answer = async () => ({ kind: "unknown", code: "http_500" });
    const [call] = await sendCalls(bench, 1);
    await bench.simulate(3600);
    expect(bench.dialed.map(({ at }) => iso(at))).toEqual(
      bench.dialed.map(({ at }) => iso(at)).filter((at) => (at ?? "") < "2026-06-01T16:59:26"),
    );
    expect(bench.dialed.length).toBeGreaterThan(0);
    expect(await bench.row(call?.id ?? "")).toMatchObject({ state: "PARKED" });
  });
});

describe("a frequency cap", () => {
  const startAt = "2026-06-01T10:00Z";
  const capped = (plan: object = {}) =>
    createDialerBench({ plan: { maxCalls: { count: 2, days: 1 }, ...plan }, startAt });
  const toOneNumber = { phone_number: "+12125550100" };

  it("lets so many calls to a number through, and defers others to the first free moment", async () => {
    const bench = capped();
    for (let n = 0; n < 3; n++) {
      await sendCalls(bench, 1, toOneNumber);
      await bench.simulate(60);
    }
    await sendCalls(bench, 1, { phone_number: "+12125550199" });
    await bench.simulate(60);
    expect(bench.dialed.map(({ at }) => iso(at))).toEqual([
      "2026-06-01T10:00:00",
      "2026-06-01T10:01:00",
      "2026-06-01T10:03:00",
    ]);
    const [waiting] = await bench.rows.list({ state: "DEFERRED", limit: 9 });
    expect([waiting?.reason, iso(waiting?.dueAt)]).toEqual(["max_calls", "2026-06-02T10:00:00"]);
    await bench.simulate(86_400);
    expect(iso(bench.dialed.at(-1)?.at)).toBe("2026-06-02T10:00:00");
  });

  it("ends a call that expires before the number is free", async () => {
    const bench = capped({ expireAfterHours: 12 });
    const calls = await sendCalls(bench, 3, toOneNumber);
    await bench.simulate(300); // looked at once more: a call under way might have been taken back
    const rows = await Promise.all(calls.map(({ id }) => bench.row(id)));
    expect(rows.filter((row) => row?.state === "PLACED")).toHaveLength(2);
    expect(rows.find((row) => row?.state === "EXPIRED")).toMatchObject({ reason: "max_calls" });
  });

  it("counts what may have been placed, and nothing that surely was not", async () => {
    const bench = capped({ maxCalls: { count: 1, days: 1 } });
    bench.answer = async () => ({ kind: "rejected", code: "http_422" });
    await sendCalls(bench, 1, toOneNumber);
    await bench.deliver();
    let tries = 0;
    bench.answer = async () =>
      ++tries === 1
        ? { kind: "not_placed", code: "http_429", retryAfterSeconds: 5 }
        : { kind: "unknown", code: "time_out" };
    await sendCalls(bench, 1, toOneNumber);
    await bench.simulate(20);
    expect(bench.dialed).toHaveLength(3); // refused; told to wait; perhaps placed
    await sendCalls(bench, 1, toOneNumber);
    await bench.simulate(600);
    expect(bench.dialed).toHaveLength(3);
    const [waiting] = await bench.rows.list({ state: "DEFERRED", limit: 9 });
    expect(waiting).toMatchObject({ reason: "max_calls" });
  });

  it("lets a call go after all whose cap was reached by one that was then refused", async () => {
    const bench = capped({ maxCalls: { count: 1, days: 30 } });
    const [first] = await sendCalls(bench, 1, toOneNumber);
    bench.answer = async ({ id }) => {
      await bench.sleep(10_000);
      return id === first?.id ? { kind: "rejected", code: "http_422" } : { kind: "placed" };
    };
    const [second] = await sendCalls(bench, 1, toOneNumber);
    await bench.simulate(600);
    expect(await bench.row(second?.id ?? "")).toMatchObject({ state: "PLACED" });
  });

  it("defers to whole milliseconds, whatever fraction of a day a cap is for", async () => {
    const bench = capped({ maxCalls: { count: 1, days: 0.0416667 } });
    await sendCalls(bench, 2, toOneNumber);
    await bench.deliver();
    const [waiting] = await bench.rows.list({ state: "DEFERRED", limit: 1 });
    expect(Number.isInteger(waiting?.dueAt)).toBe(true);
    await bench.simulate(3700);
    expect(bench.dialed).toHaveLength(2);
  });

  it("counts a call once, though its message comes again before it could be claimed", async () => {
    const bench = capped();
    bench.breakLedger({
      claim: async () => {
        throw new Error("no answer");
      },
    });
    await sendCalls(bench, 1, toOneNumber);
    await bench.deliver();
    bench.mendLedger();
    await bench.simulate(120);
    await sendCalls(bench, 1, toOneNumber);
    await bench.simulate(1);
    expect(bench.dialed).toHaveLength(2);
  });

  it("dials nobody while it cannot be looked up", async () => {
    const bench = capped();
    bench.breakLedger({
      count: async () => {
        throw new Error("no answer");
      },
    });
    await sendCalls(bench, 1, toOneNumber);
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 60 }]);
    bench.mendLedger();
    await bench.simulate(120);
    expect(bench.dialed).toHaveLength(1);
  });
});

describe("a paced account", () => {
  const startAt = "2026-06-01T10:00Z";
  const paced = (callsPerSecond: number, more: object = {}) => ({
    providers: { webhook: { callsPerSecond, ...more } },
  });
  const bench = (callsPerSecond: number, more: object = {}) => {
    const made = createDialerBench({ plan: paced(callsPerSecond, more), startAt });
    made.answer = async () => {
      await made.sleep(120);
      return { kind: "placed" };
    };
    return made;
  };
  const secondsOf = (one: Bench) => one.dialed.map(({ at }) => (at - Date.parse(startAt)) / 1000);
  /** Most calls in any one second. */
  const peak = (one: Bench) => {
    const times = secondsOf(one).toSorted((a, b) => a - b);
    return Math.max(
      ...times.map((at, index) => times.slice(index).filter((t) => t < at + 1).length),
    );
  };

  it("takes 60 calls at 2 a second in half a minute", async () => {
    const two = bench(2);
    await sendCalls(two, 60);
    await two.simulate(60);
    expect(two.dialed).toHaveLength(60);
    expect(Math.max(...secondsOf(two))).toBeGreaterThanOrEqual(29);
    expect(Math.max(...secondsOf(two))).toBeLessThanOrEqual(31);
    expect(peak(two)).toBeLessThanOrEqual(2 + 1);
  });

  it("takes its burst at once after a pause, and no more", async () => {
    const burst = bench(2, { burst: 5 });
    await sendCalls(burst, 20);
    await burst.simulate(30);
    expect(secondsOf(burst).filter((at) => at < 0.1)).toHaveLength(5);
    expect(peak(burst)).toBeLessThanOrEqual(7);
  });

  it.each([
    [5, 0, 0],
    [30, 0, 0],
    [60, 0, 0],
    [60, 0, 3000],
    [60, 0, 8000],
    [60, 5000, 0],
    [60, 20_000, 5000],
    [60, 120_000, 0],
  ])(
    "is kept busy, never too busy, and first come first served (a sweep each %i s, messages %i to %i ms more late)",
    async (sweepSeconds, alwaysLateMs, lateMs) => {
      const twenty = bench(20);
      let random = 7;
      const late = () => {
        random = (random * 16_807) % 2_147_483_647;
        return alwaysLateMs + (random / 2_147_483_647) * lateMs;
      };
      const options = { sweepSeconds, lateMs: late, consumers: 6 };
      await sendCalls(twenty, 3000);
      await twenty.simulate(10, options);
      const last = callNow(twenty, { phone_number: "+13035559999" });
      await twenty.send(messageOf(last));
      await twenty.simulate(500, options);
      expect(new Set(twenty.dialed.map(({ call }) => call.id)).size).toBe(3001);
      expect(twenty.dialed).toHaveLength(3001);
      expect(peak(twenty)).toBeLessThanOrEqual(20 + 1);
      const times = secondsOf(twenty);
      expect(Math.max(...times)).toBeLessThanOrEqual((alwaysLateMs + lateMs) / 500 + 150 / 0.9);
      const its = twenty.dialed.find(({ call }) => call.id === last.id)?.at ?? 0;
      const behind = twenty.dialed.filter(({ at }) => at > its);
      expect(behind.length).toBeLessThanOrEqual(20 + (20 * lateMs) / 1000);
    },
  );

  it("resends what an idempotent provider may have lost, whoever stands in line", async () => {
    const one = createDialerBench({
      plan: { ...paced(5), agents: { agent_sales: { ...webhook, idempotent: true } } },
      startAt,
    });
    const unknown = await sendCalls(one, 3);
    one.answer = async () => ({ kind: "unknown", code: "http_500" });
    await one.deliver();
    one.answer = async () => ({ kind: "placed" });
    await sendCalls(one, 3000);
    await one.simulate(300);
    const rows = await one.rows.read(unknown.map(({ id }) => id));
    expect([...rows.values()].map(({ state }) => state)).toEqual(["PLACED", "PLACED", "PLACED"]);
  });

  it("keeps to its rate when calls with slots come to it from another account", async () => {
    const moved = bench(2);
    await sendCalls(moved, 200);
    await moved.simulate(20);
    moved.changePlan({
      ...paced(2),
      agents: { agent_sales: { ...webhook, url: "http://127.0.0.1:10/dial" } },
    });
    await sendCalls(moved, 200);
    await moved.simulate(300);
    const second = moved.dialed.filter(({ route }) => "url" in route && route.url.includes(":10/"));
    expect(second.length).toBeGreaterThan(300);
    const times = second.map(({ at }) => at);
    expect(
      Math.max(...times.map((at) => times.filter((t) => t >= at && t < at + 1000).length)),
    ).toBeLessThanOrEqual(3);
  });

  it("takes up a raised rate within 75 seconds", async () => {
    const one = bench(1);
    await sendCalls(one, 1500);
    await one.simulate(100);
    expect(one.dialed.length).toBeLessThanOrEqual(101);
    one.changePlan(paced(10));
    await one.simulate(75);
    const before = one.dialed.length;
    await one.simulate(20);
    expect(one.dialed.length - before).toBeGreaterThanOrEqual(180);
    expect(peak(one)).toBeLessThanOrEqual(10 + 1);
  });

  it("takes up a raised fraction of a call a second within 75 seconds", async () => {
    const slow = bench(0.05);
    await sendCalls(slow, 400);
    await slow.simulate(100);
    expect(slow.dialed.length).toBeLessThanOrEqual(6);
    slow.changePlan(paced(2));
    await slow.simulate(75);
    const before = slow.dialed.length;
    await slow.simulate(5);
    expect(slow.dialed.length - before).toBeGreaterThanOrEqual(9);
  });

  it("costs a waiting call a handful of messages an hour", async () => {
    const slow = bench(0.1);
    await sendCalls(slow, 400);
    const hours = 1;
    await slow.simulate(hours * 3600);
    expect(slow.dialed.length).toBeGreaterThanOrEqual(360 * 0.9);
    const sweeps = hours * 60;
    expect((slow.sent() - sweeps) / 400).toBeLessThanOrEqual(5);
    expect(await slow.rows.lines()).toHaveLength(1);
  });

  it("does not wait for calls whose hours or time are over before their turn", async () => {
    const both = createDialerBench({
      plan: {
        ...paced(1),
        agents: {
          agent_sales: { ...webhook, callingHours: "early" },
          agent_support: webhook,
        },
        callingHours: { default: "always", early: { "mon-sun": ["09:00-10:01"] } },
      },
      startAt,
    });
    const early = await sendCalls(both, 100);
    both.advance(1);
    const later = await sendCalls(both, 20, { agent_id: "agent_support" });
    await both.simulate(150);
    const dialed = new Set(both.dialed.map(({ call }) => call.id));
    expect(later.filter(({ id }) => dialed.has(id))).toHaveLength(20);
    const closing = Date.parse("2026-06-01T10:00:25Z"); // less the provider's 30 s and the margin of 5
    for (const { call, at } of both.dialed) {
      if (call.request.agent_id === "agent_sales") expect(at).toBeLessThanOrEqual(closing);
    }
    const rows = await both.rows.read(early.map(({ id }) => id));
    const waiting = [...rows.values()].filter(({ state }) => state === "DEFERRED");
    expect(waiting.length).toBeGreaterThan(60);
    for (const row of waiting) {
      expect([row.reason, iso(row.dueAt), row.line]).toEqual([
        "hours:callingHours.early",
        "2026-06-02T09:00:00",
        null,
      ]);
    }
  });

  it("lets its line go once the plan paces it no longer, or sends it elsewhere", async () => {
    for (const change of [
      {},
      {
        agents: { agent_sales: { ...webhook, url: "http://127.0.0.1:10/dial" } },
        ...paced(50),
      },
    ]) {
      const one = bench(0.1);
      await sendCalls(one, 100);
      await one.simulate(30);
      one.changePlan(change);
      await one.simulate(150);
      expect(one.dialed).toHaveLength(100);
    }
  });

  it("goes on where it was once a hold has ended", async () => {
    const held = bench(1);
    let refuse = true;
    held.answer = async () =>
      refuse ? { kind: "account_refused", code: "http_401" } : { kind: "placed" };
    const calls = await sendCalls(held, 600);
    await held.simulate(30);
    expect(held.dialed.length).toBeLessThanOrEqual(2);
    // Its line stays as it is meanwhile.
    const messages = held.sent();
    await held.simulate(60);
    expect(held.sent() - messages).toBeLessThan(200);
    refuse = false;
    await held.simulate(900);
    const rows = await held.rows.read(calls.map(({ id }) => id));
    expect([...rows.values()].filter(({ state }) => state === "PLACED")).toHaveLength(600);
    expect(peak(held)).toBeLessThanOrEqual(2);
  });

  it("is probed past calls at the head of its line that may not be dialed", async () => {
    const probed = createDialerBench({
      plan: {
        ...paced(1),
        agents: { agent_sales: { ...webhook, callingHours: "early" }, agent_support: webhook },
        callingHours: { default: "always", early: { "mon-sun": ["09:00-10:01"] } },
      },
      startAt,
    });
    let refuse = true;
    probed.answer = async () =>
      refuse ? { kind: "account_refused", code: "http_401" } : { kind: "placed" };
    await sendCalls(probed, 1, { agent_id: "agent_support" });
    await probed.deliver();
    await sendCalls(probed, 250);
    probed.advance(1);
    const [open] = await sendCalls(probed, 1, { agent_id: "agent_support" });
    await probed.simulate(40); // the hold's probe comes after a minute, when the others' hours have ended
    refuse = false;
    await probed.simulate(200);
    expect(await probed.row(open?.id ?? "")).toMatchObject({ state: "PLACED" });
  });

  it("reserves anew what a frozen dialer came too late for", async () => {
    const frozen = bench(10);
    let claims = 0;
    frozen.breakLedger({
      async claim(all) {
        claims += all.length;
        // Frozen for eight seconds in the middle of a delivery, a claim just made.
        if (claims === 20) frozen.advance(8000);
        return frozen.rows.claim(all);
      },
    });
    await sendCalls(frozen, 100);
    await frozen.simulate(200);
    expect(new Set(frozen.dialed.map(({ call }) => call.id)).size).toBe(100);
    expect(frozen.dialed).toHaveLength(100);
    expect(peak(frozen)).toBeLessThanOrEqual(10 + 1);
  });
});
