import { describe, expect, it } from "vitest";
import {
  aCallNow,
  boom,
  cancel,
  documentOf,
  hashOf,
  put,
  due,
  idsDialed,
  inUtc,
  neverCall,
  pause,
  putIn,
  rowOf,
  sendEach,
  type Bench,
} from "#test/support/dialer-calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { rowIn } from "#test/support/rows.ts";

/** The plan's `timeoutSeconds` of these tests, and the time limit of the request by which the phone rings. */
const timeoutSeconds = 90;
const ringSeconds = 45;
const nine = { default: { "mon-sun": ["09:00-17:00"] } };
const startAt = "2026-06-01T16:50Z";

/** Creates a bench whose adapter makes another request before the one by which the phone rings, as LiveKit's does. */
function benchOf(more: object = {}): Bench {
  const bench = createDialerBench({
    plan: { providers: { webhook: { timeoutSeconds } }, callingHours: nine, ...more },
    startAt,
  });
  bench.ringSeconds = ringSeconds;
  return bench;
}
const aCallIn = (bench: Bench) => aCallNow(bench, inUtc());

describe("the last look before the phone rings", () => {
  it.each<[string, (bench: Bench, requestId: string) => Promise<unknown>, string]>([
    ["a cancellation", (bench, request) => cancel(bench, { request }), "CANCELLED"],
    ["a pause", (bench) => pause(bench, { agent: "agent_sales" }), "WAITING"],
    ["a client's pause", (bench) => pause(bench, { client: "crm" }), "WAITING"],
    ["the do-not-call list", (bench) => neverCall(bench, inUtc().phone_number), "REJECTED"],
  ])("sees %s that came while the adapter prepared the call", async (_name, order, state) => {
    const bench = benchOf();
    const call = aCallIn(bench);
    bench.prepare = async () => {
      bench.advance(500);
      await order(bench, call.requestId);
      bench.advance(5_001);
    };
    await sendEach(bench, call);
    await bench.deliver();
    expect(idsDialed(bench)).toEqual([]);
    expect((await rowOf(bench, call)).state).toBe(state);
  });

  it("sees the do-not-call list for a row from before a rotation of HASH_KEY, and counts it towards its cap", async () => {
    const bench = benchOf({ maxCalls: { count: 1, days: 1 } });
    const call = aCallIn(bench);
    const former = "0".repeat(64);
    await put(bench, { ...rowIn("WAITING", call, { dueAt: bench.now() }), numberHash: former });
    bench.prepare = async () => {
      expect(await documentOf(bench, "cap", hashOf(inUtc().phone_number))).toBeDefined();
      await neverCall(bench, inUtc().phone_number);
      bench.advance(5_001);
    };
    await bench.send(due(call));
    await bench.deliver();
    expect(idsDialed(bench)).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "REJECTED", reason: "do_not_call" });
  });

  it("withholds a call whose orders cannot be read again", async () => {
    const bench = benchOf();
    const call = aCallIn(bench);
    const { read } = bench.documents;
    let failures = 0;
    bench.breakDocuments({ read: (keys) => (failures-- > 0 ? boom() : read(keys)) });
    bench.prepare = async () => {
      failures = 1;
      bench.advance(5_001);
    };
    await sendEach(bench, call);
    await bench.deliver();
    expect(idsDialed(bench)).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "not_checked" });
  });

  it("sees that it has become too late in the callee's day", async () => {
    const bench = benchOf();
    const call = aCallIn(bench);
    let standsStillMs = 20 * 60_000;
    bench.prepare = async () => {
      bench.advance(standsStillMs);
      standsStillMs = 0;
    };
    await sendEach(bench, call);
    await bench.deliver();
    expect(idsDialed(bench)).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "claim_too_old" });
    await bench.run(60);
    expect(idsDialed(bench)).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "WAITING",
      reason: "hours:callingHours.default",
    });
  });

  it.each([
    ["leaves", 10_000 + (timeoutSeconds - ringSeconds) * 1000, 1],
    ["is withheld", 10_001 + (timeoutSeconds - ringSeconds) * 1000, 0],
  ])("%s where it may end before the claim lapses, and not after", async (_name, ms, count) => {
    for (const reportsConnection of [true, false]) {
      const bench = benchOf({ callingHours: { default: "always" } });
      bench.reportsConnection = reportsConnection;
      const call = aCallIn(bench);
      bench.prepare = async () => bench.advance(ms);
      await sendEach(bench, call);
      await bench.deliver();
      expect(bench.dialed).toHaveLength(count);
    }
  });

  it("looks at the claim's age when the connection stands", async () => {
    const bench = benchOf();
    bench.ringSeconds = timeoutSeconds;
    const call = aCallIn(bench);
    bench.connect = async () => bench.advance(10_001);
    await sendEach(bench, call);
    await bench.deliver();
    expect(idsDialed(bench)).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "claim_too_old" });
    bench.connect = async () => undefined;
    await bench.run(60);
    expect(idsDialed(bench)).toEqual([call.id]);
  });

  it.each(["prepare", "connect"] as const)(
    "does not dial a call that expires in the %s step",
    async (step) => {
      const bench = benchOf({ expireAfterHours: 1, callingHours: { default: "always" } });
      const call = { ...aCallIn(bench), acceptedAt: bench.now() - 3_600_000 + 3_000 };
      bench[step] = async () => bench.advance(3_000);
      await putIn(bench, "WAITING", call, { dueAt: bench.now() });
      await bench.send(due(call));
      await bench.deliver();
      expect(idsDialed(bench)).toEqual([]);
      expect(await rowOf(bench, call)).toMatchObject({ state: "EXPIRED", reason: "expired" });
    },
  );

  it("gives the probe and the place in the number's cap back", async () => {
    const bench = benchOf({
      maxCalls: { count: 1, days: 1 },
      callingHours: { default: "always" },
    });
    const call = aCallIn(bench);
    let isSlow = true;
    bench.prepare = async () => {
      if (isSlow) bench.advance(120_000);
      isSlow = false;
    };
    await sendEach(bench, call);
    await bench.run(60);
    expect(idsDialed(bench)).toEqual([call.id]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", attempt: 2 });
  });
});
