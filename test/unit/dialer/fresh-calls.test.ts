import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { openBreaker } from "#test/support/breakers-bench.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  allIn,
  type Bench,
  callsNow,
  documentOf,
  idsDialed,
  message,
  numberOf,
  ownAccount,
  pause,
  putDocument,
  putWaiting,
  request,
  rowOf,
  rowsIn,
  sendRequest,
  statesOf,
} from "#test/support/dialer-calls.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const startAt = "2026-06-01T10:00Z";
const account = `account:${ownAccount}`;
const own = 'backlog:["crm","agent_sales"]';
const createBench = (more: Parameters<typeof createDialerBench>[0] = {}) =>
  createDialerBench({ startAt, ...more });
/** A dispatcher that looks on, as on Cloudflare. */
const loops = (bench: Bench) => {
  bench.deps.dispatcher = { ...bench.deps.dispatcher, endsIdle: false };
};
const recordAccount = (bench: Bench, value: { quick: boolean; busy: boolean }) =>
  putDocument(bench, { kind: "account", key: ownAccount }, value);
/** Returns what was measured of the account. A dispatcher writes `busy` only where it changes. */
const accountOf = async (bench: Bench) => ({
  busy: false,
  ...(await documentOf(bench, "account", ownAccount))?.value,
});

/** Delivers the message of one fresh call. */
async function deliverOne(bench: Bench): Promise<Call> {
  const call = aCallNow(bench);
  await bench.send(message(call));
  expect(new Set(await bench.deliver())).toEqual(new Set(["ack"]));
  return call;
}

/** Delivers one fresh call, and expects that it becomes a row for this reason, due now. */
async function expectRow(bench: Bench, reason: string): Promise<void> {
  const now = bench.now();
  const row = await rowOf(bench, await deliverOne(bench));
  expect(row).toMatchObject({ state: "WAITING", reason, attempt: 0, dueAt: now });
  expect(idsDialed(bench)).not.toContain(row.id);
}

describe("a fresh call", () => {
  it("is dialed by its own delivery, at once, where its account answers quickly and has room", async () => {
    const bench = createBench();
    const call = await deliverOne(bench);
    expect(bench.dialed).toMatchObject([{ call: { id: call.id }, at: call.acceptedAt }]);
    expect(await statesOf(bench, [call])).toEqual(["PLACED"]);
  });

  it.each([
    ["never answered", undefined],
    ["answered slowly", { quick: false, busy: false }],
    ["is busy", { quick: true, busy: true }],
  ])("waits for its turn where its account %s", async (_, value) => {
    const bench = createBench({ isNew: true });
    if (value !== undefined) await recordAccount(bench, value);
    await expectRow(bench, "turn");
  });

  it("waits for its turn where its message is more than five seconds old", async () => {
    for (const [ageMs, count] of [
      [5_000, 1],
      [5_001, 0],
    ] as const) {
      const bench = createBench();
      const call = aCallNow(bench);
      await bench.send(message(call));
      bench.advance(ageMs);
      await bench.deliver();
      expect(bench.dialed).toHaveLength(count);
      if (count === 0) expect(await rowOf(bench, call)).toMatchObject({ reason: "turn" });
    }
  });

  it.each([
    ["its account's is open", account, { state: "open" }],
    ["its account's is half-open", account, { state: "half_open", room: 8 }],
    ["its backlog's is open", own, { state: "open" }],
    ["its backlog's may be probed", own, { state: "open", probeAt: 0 }],
  ] as const)("waits behind a breaker: %s", async (_, key, value) => {
    const bench = createBench();
    await openBreaker(bench, key, value);
    await expectRow(bench, "breaker_open");
  });

  it.each([
    ["that is closed and notes who is in trouble", account, "closed"],
    ["of another client", 'backlog:["shop","agent_sales"]', "open"],
    ["of another agent", 'backlog:["crm","agent_support"]', "open"],
    ["of another account", "account:vapi", "open"],
  ] as const)("does not wait behind a breaker %s", async (_, key, state) => {
    const bench = createBench();
    await openBreaker(bench, key, { state });
    await deliverOne(bench);
    expect(bench.dialed).toHaveLength(1);
  });

  it.each([{ agent: "agent_sales" }, { account: "webhook" }, { client: "crm" }])(
    "waits while an operator pauses %o",
    async (what) => {
      const bench = createBench();
      await pause(bench, what);
      await expectRow(bench, "paused");
    },
  );

  it("with a pace is dialed at its permit, if that comes within two seconds", async () => {
    const plan = { providers: { webhook: { callsPerSecond: 1 } } };
    for (const [aheadMs, count] of [
      [1_900, 1],
      [2_100, 0],
    ] as const) {
      const bench = createBench({ plan });
      const permitAt = bench.now() + aheadMs;
      await putDocument(bench, { kind: "pace", key: ownAccount }, { arrivalUs: permitAt * 1000 });
      const call = await deliverOne(bench);
      expect(bench.dialed.map(({ at }) => at)).toEqual(count === 1 ? [permitAt] : []);
      if (count === 0) {
        expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "pace" });
      }
    }
  });

  it("of several with a pace waits where those before it take the permits of two seconds", async () => {
    const bench = createBench({ plan: { providers: { webhook: { callsPerSecond: 2 } } } });
    const calls = await sendRequest(bench, 5);
    await bench.deliver();
    const states = await statesOf(bench, calls);
    const count = bench.dialed.length;
    expect(count).toBeGreaterThanOrEqual(4);
    expect(states).toEqual(calls.map((_, n) => (n < count ? "PLACED" : "WAITING")));
    const last = (bench.dialed.at(-1)?.at ?? 0) - (calls[0]?.acceptedAt ?? 0);
    expect(last).toBeLessThanOrEqual(2_600);
  });

  it.each([
    ["no separate limit", {}, 5],
    ["a smaller limit of its own", { concurrency: 2 }, 2],
    ["a larger limit of its own", { concurrency: 25 }, 5],
  ])("is one of as many as may be under way at once: %s", async (_, webhook, most) => {
    const bench = createBench({ plan: { providers: { webhook } }, concurrency: 5 });
    const calls = await sendRequest(bench, 12);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed.map(({ call }) => call.id)).toEqual(
      calls.slice(0, most).map(({ id }) => id),
    );
    const rows = await rowsIn(bench, "WAITING");
    expect(rows.map(({ reason, dueAt }) => [reason, dueAt])).toEqual(
      calls.slice(most).map(({ acceptedAt }) => ["turn", acceptedAt]),
    );
  });

  it("is counted for its own account alone", async () => {
    const other = { provider: "webhook", url: "http://127.0.0.2:9/dial" };
    const bench = createBench({
      plan: { agents: { agent_sales: { ...other, url: "http://127.0.0.1:9/dial" }, other } },
      concurrency: 5,
    });
    const calls = [
      ...callsNow(bench, 4),
      ...callsNow(bench, 4, { agent_id: "other", phone_number: numberOf(900) }),
    ];
    await bench.send(...calls.map(message));
    await bench.deliver();
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
  });

  it("of a request of more than 25 is never dialed by its own delivery", async () => {
    const bench = createBench({ concurrency: 100 });
    await sendRequest(bench, 26);
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowsIn(bench, "WAITING")).toHaveLength(26);
    await sendRequest(bench, 25);
    await bench.deliver();
    expect(bench.dialed).toHaveLength(25);
  });

  it("goes before a backlog that is not busy, and not before one that is", inSlowTier, async () => {
    const bench = createBench();
    await putWaiting(bench, 20, 0, { client: "shop" });
    await bench.dispatch(); // as many as the account may have in flight
    expect(await accountOf(bench)).toEqual({ quick: true, busy: false });
    await deliverOne(bench);
    expect(bench.dialed.length).toBeGreaterThanOrEqual(1);
    expect(await accountOf(bench)).toMatchObject({ busy: false });
    for (const client of ["a", "b", "c", "d", "e", "f"]) {
      await putWaiting(bench, 100, 0, { client });
    }
    await bench.dispatch();
    expect(await accountOf(bench)).toEqual({ quick: true, busy: true });
    await expectRow(bench, "turn");
    await bench.simulate(60);
    expect(await accountOf(bench)).toEqual({ quick: true, busy: false });
    expect(await rowsIn(bench, "WAITING")).toEqual([]);
    await deliverOne(bench);
    expect(new Set(idsDialed(bench)).size).toBe(bench.dialed.length);
    expect(bench.dialed).toHaveLength(20 + 1 + 600 + 1 + 1);
  });
});

describe("the first call of an account", () => {
  it("is dialed within 2.5 s, and has the next one dialed at once", async () => {
    const bench = createBench({ isNew: true });
    loops(bench);
    await bench.simulate(10);
    const first = aCallNow(bench);
    await bench.send(message(first));
    await bench.simulate(3);
    expect(bench.dialed).toMatchObject([{ call: { id: first.id } }]);
    expect((bench.dialed[0]?.at ?? 0) - first.acceptedAt).toBeLessThanOrEqual(2_500);
    expect(await accountOf(bench)).toEqual({ quick: true, busy: false });
    const second = await deliverOne(bench);
    expect(bench.dialed[1]).toMatchObject({ call: { id: second.id }, at: second.acceptedAt });
  });

  it("is dialed within 2.5 s where a dispatcher has to be woken", async () => {
    const bench = createBench({ isNew: true });
    await bench.simulate(70); // a dispatcher has come and gone
    const first = aCallNow(bench);
    await bench.send(message(first));
    await bench.simulate(3);
    expect((bench.dialed[0]?.at ?? Infinity) - first.acceptedAt).toBeLessThanOrEqual(2_500);
  });
});

describe("an account", () => {
  it("stops being quick as soon as a request of it has been under way for two seconds", async () => {
    const bench = createBench();
    let noted: unknown;
    bench.answer = async () => {
      await bench.sleep(2_100);
      noted = await accountOf(bench);
      await bench.sleep(5_000);
      return { kind: "placed" };
    };
    await deliverOne(bench);
    expect(noted).toEqual({ quick: false, busy: false });
    await expectRow(bench, "turn");
  });

  it("is quick again once it answers within two seconds on average", async () => {
    const bench = createBench();
    let answerMs = 6_000;
    bench.answer = async () => {
      await bench.sleep(answerMs);
      return { kind: "placed" };
    };
    await deliverOne(bench);
    expect(await accountOf(bench)).toMatchObject({ quick: false });
    answerMs = 100;
    await putWaiting(bench, 30, 0);
    await bench.simulate(90);
    expect(await accountOf(bench)).toEqual({ quick: true, busy: false });
  });

  it("is not taken for quick where its only answers are failures", async () => {
    const bench = createBench({ isNew: true });
    bench.answer = async () => ({ kind: "unknown", code: "http_500" });
    await putWaiting(bench, 3, 0);
    await bench.simulate(10);
    expect((await accountOf(bench))?.quick ?? false).toBe(false);
    expect(bench.dialed.length).toBeGreaterThanOrEqual(1);
  });

  it(
    "takes a call that posts once a second at once, beside a backlog that keeps it half busy",
    inSlowTier,
    async () => {
      const bench = createBench({ plan: { providers: { webhook: { callsPerSecond: 10 } } } });
      loops(bench);
      bench.answer = async () => {
        await bench.sleep(100);
        return { kind: "placed" };
      };
      const waits: number[] = [];
      for (let second = 0; second < 60; second++) {
        const early = firstOf(callsNow(bench, 1, {}, { client: "steady" }));
        await bench.send(request([early]));
        await bench.simulate(1);
        const at = bench.dialed.find(({ call }) => call.id === early.id)?.at;
        waits.push((at ?? Infinity) - early.acceptedAt);
      }
      expect(Math.max(...waits)).toBeLessThanOrEqual(500);
    },
  );
});
