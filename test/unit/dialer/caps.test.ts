import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { afterClaims } from "#test/support/claims.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  boom,
  callsNow,
  documentOf,
  due,
  hashOf,
  idsDialed,
  iso,
  pause,
  put,
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

const startAt = "2026-06-01T10:00Z";
const number = "+3545550100";
const capped = (plan: object = {}) =>
  createDialerBench({ plan: { maxCalls: { count: 2, days: 1 }, ...plan }, startAt });
const one = { maxCalls: { count: 1, days: 1 } };
const toOneNumber = (bench: Bench, count: number) =>
  callsNow(bench, count, { phone_number: number, timezone: "UTC" });
/** Sends calls to the same number. */
const sendTo = async (bench: Bench, count: number): Promise<Call[]> => {
  const calls = toOneNumber(bench, count);
  await sendEach(bench, ...calls);
  return calls;
};
const entries = async (bench: Bench) =>
  (await documentOf(bench, "cap", hashOf(number)))?.value.entries ?? [];

describe("a frequency cap", () => {
  it(
    "is full from the moment of a request on, though it was claimed seconds before",
    inSlowTier,
    async () => {
      const providers = { webhook: { callsPerSecond: 0.05 } };
      const bench = capped({ ...one, providers });
      await sendEach(bench, ...callsNow(bench, 2));
      await sendTo(bench, 2);
      await bench.simulate(2 * 86_400);
      const [first = 0, second = 0, ...more] = bench.dialed
        .filter(({ call }) => call.request.phone_number === number)
        .map(({ at }) => at);
      expect(second - first).toBe(86_400_000);
      expect(more).toEqual([]);
    },
  );

  it("lets so many calls to a number through, and others wait for the first free moment", async () => {
    const bench = capped();
    for (let n = 0; n < 3; n++) {
      await sendTo(bench, 1);
      await bench.simulate(60);
    }
    await sendEach(bench, aCallNow(bench, { phone_number: "+12125550199" }));
    await bench.simulate(60);
    expect(bench.dialed.map(({ at }) => iso(at))).toEqual([
      "2026-06-01T10:00:00",
      "2026-06-01T10:01:00",
      "2026-06-01T10:03:00",
    ]);
    const [waiting] = await rowsIn(bench, "WAITING");
    expect([waiting?.reason, iso(waiting?.dueAt)]).toEqual(["max_calls", "2026-06-02T10:00:00"]);
    await bench.simulate(86_400, { sweepSeconds: 3600 });
    expect(iso(bench.dialed.at(-1)?.at)).toBe("2026-06-02T10:00:00");
  });

  it.each([2, 5, 20])(
    "with one place left lets exactly one of %i calls of one delivery to the number through",
    inSlowTier,
    async (count) => {
      const bench = capped(one);
      const calls = await sendTo(bench, count);
      expect(await bench.deliver()).toEqual(calls.map(() => "ack"));
      expect(bench.dialed).toHaveLength(1);
      const states = await statesOf(bench, calls);
      expect(states.filter((state) => state === "PLACED")).toHaveLength(1);
      expect(states.filter((state) => state === "WAITING")).toHaveLength(count - 1);
      expect(await entries(bench)).toHaveLength(1);
    },
  );

  it("with room for all lets twenty calls of one delivery to the number through at once", async () => {
    const bench = capped({ maxCalls: { count: 20, days: 1 } });
    bench.deps.concurrency = 25;
    await sendTo(bench, 20);
    await bench.deliver();
    expect(bench.dialed).toHaveLength(20);
    expect(await entries(bench)).toHaveLength(20);
  });

  it("with one place left lets exactly one of two deliveries' calls to the number through", async () => {
    const bench = capped(one);
    await sendTo(bench, 1);
    const first = bench.deliver();
    await sendTo(bench, 1);
    const second = bench.deliver();
    await Promise.all([first, second]);
    expect(bench.dialed).toHaveLength(1);
    expect(await entries(bench)).toHaveLength(1);
  });

  it("ends no call while one in progress may still leave room", async () => {
    const bench = capped({ ...one, expireAfterHours: 30 });
    await sendTo(bench, 1);
    await bench.simulate(60);
    // They wait until the number is free, all at the same time.
    const calls = await sendTo(bench, 3);
    await bench.simulate(60);
    bench.answer = async () => {
      await bench.sleep(300);
      const isLast = bench.dialed.length === 4;
      return isLast ? { kind: "placed" } : { kind: "rejected", code: "http_400" };
    };
    await bench.simulate(25 * 3600);
    const states = await statesOf(bench, calls);
    expect(states.filter((state) => state === "REJECTED")).toHaveLength(2);
    expect(states).toContain("PLACED");
  });

  it("ends a call that expires before the number is free", async () => {
    const bench = capped({ expireAfterHours: 12 });
    const calls = await sendTo(bench, 3);
    await bench.simulate(300); // rows are looked at once more, as a call under way might have left the cap
    const rows = await Promise.all(calls.map((call) => rowOf(bench, call)));
    expect(rows.filter(({ state }) => state === "PLACED")).toHaveLength(2);
    expect(rows.find(({ state }) => state === "EXPIRED")).toMatchObject({ reason: "max_calls" });
  });

  it.each([60, 179, 181])(
    "is the reason of a call that expires %i seconds after it was looked at, however it ends",
    inSlowTier,
    async (seconds) => {
      const bench = capped({ expireAfterHours: 1 });
      await sendTo(bench, 2);
      await bench.simulate(10);
      const late = toOneNumber(bench, 1).map((call) => ({
        ...call,
        acceptedAt: bench.now() - 3_600_000 + seconds * 1000,
      }));
      await sendEach(bench, ...late);
      await bench.simulate(5);
      expect(await rowsIn(bench, "WAITING")).toMatchObject([{ reason: "max_calls" }]);
      await bench.simulate(400);
      expect(await rowsIn(bench, "EXPIRED")).toMatchObject([{ reason: "max_calls" }]);
    },
  );

  it("is not the reason of a call that expires while hours are closed", inSlowTier, async () => {
    const plan = { callingHours: { default: { "mon-sun": ["09:00-10:30"] } }, expireAfterHours: 2 };
    const bench = capped({ maxCalls: { count: 1, days: 1 / 24 }, ...plan });
    await sendTo(bench, 2);
    await bench.simulate(3 * 3600);
    expect(await rowsIn(bench, "EXPIRED")).toMatchObject([
      { reason: "hours:callingHours.default" },
    ]);
  });

  it("counts what may have been placed, and nothing that surely was not", async () => {
    const bench = capped(one);
    bench.answer = async () => ({ kind: "rejected", code: "http_422" });
    await sendTo(bench, 1);
    await bench.deliver();
    expect(await entries(bench)).toEqual([]);
    let tries = 0;
    bench.answer = async () =>
      ++tries === 1 ? { kind: "not_placed", code: "http_429", retryAfterSeconds: 5 } : unknown;
    const [call] = await sendTo(bench, 1);
    await bench.simulate(20);
    expect(bench.dialed).toHaveLength(3); // one refused, one told to wait, one perhaps placed
    expect(await entries(bench)).toMatchObject([{ call: call?.id }]);
    await sendTo(bench, 1);
    await bench.simulate(600);
    expect(bench.dialed).toHaveLength(3);
    expect(await rowsIn(bench, "WAITING")).toMatchObject([{ reason: "max_calls" }]);
  });

  it("counts a call that goes to a person after a 403 as not placed, but a lapsed claim as placed", async () => {
    const bench = capped(one);
    bench.answer = async () => ({ kind: "forbidden", code: "http_403" });
    await sendTo(bench, 1);
    await bench.deliver();
    expect(await entries(bench)).toEqual([]);
    bench.answer = () => new Promise(() => undefined);
    const [lost] = await sendTo(bench, 1);
    void bench.deliver();
    await expect.poll(() => bench.dialed.length).toBe(2);
    bench.advance(120_000);
    await bench.sweep();
    bench.answer = async () => ({ kind: "placed" });
    expect(lost && (await stateOf(bench, lost))).toBe("UNKNOWN");
    await sendTo(bench, 1);
    await bench.deliver();
    expect(bench.dialed).toHaveLength(2);
  });

  it("releases the entry of a call that surely sent nothing: paused, or too late", async () => {
    const bench = capped(one);
    const call = aCallNow(bench, { phone_number: number });
    // The process freezes between the claim and the request, and then reads the pause.
    afterClaims(bench, async () => {
      bench.advance(6_000);
      await pause(bench, { agent: "agent_sales" });
    });
    await sendEach(bench, call);
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "paused" });
    expect(await entries(bench)).toEqual([]);

    const late = capped(one);
    late.breakDocuments({
      async write(changes) {
        if (changes[0]?.next.kind === "cap") late.advance(10_001);
        return late.documents.write(changes);
      },
    });
    const [tooLate] = await sendTo(late, 1);
    await late.deliver();
    expect(late.dialed).toEqual([]);
    expect(tooLate && (await rowOf(late, tooLate))).toMatchObject({ reason: "claim_too_old" });
    expect(await entries(late)).toEqual([]);
  });

  it("admits a call after all if the call that filled the cap is then refused", async () => {
    const bench = capped({ maxCalls: { count: 1, days: 30 } });
    const [first] = await sendTo(bench, 1);
    bench.answer = async ({ id }) => {
      await bench.sleep(10_000);
      return id === first?.id ? { kind: "rejected", code: "http_422" } : { kind: "placed" };
    };
    const [second] = await sendTo(bench, 1);
    await bench.simulate(600);
    expect(second && (await stateOf(bench, second))).toBe("PLACED");
  });

  it("makes calls wait for whole milliseconds, for any fraction of a day", inSlowTier, async () => {
    const bench = capped({ maxCalls: { count: 1, days: 0.0416667 } });
    await sendTo(bench, 2);
    await bench.deliver();
    const [waiting] = await rowsIn(bench, "WAITING");
    expect(Number.isInteger(waiting?.dueAt)).toBe(true);
    await bench.simulate(3700);
    expect(bench.dialed).toHaveLength(2);
  });

  it("counts a call once, though its message comes again before it could be claimed", async () => {
    const bench = capped();
    bench.breakLedger({ write: boom });
    await sendTo(bench, 1);
    await bench.deliver();
    bench.repairLedger();
    await bench.simulate(120);
    await sendTo(bench, 1);
    await bench.simulate(1);
    expect(bench.dialed).toHaveLength(2);
    expect(await entries(bench)).toHaveLength(2);
  });

  it("counts a resend in the place that the call has, at its new time", async () => {
    const agents = { agent_sales: { ...webhook, idempotent: true } };
    const bench = capped({ ...one, agents });
    bench.answer = async () => (bench.dialed.length < 3 ? unknown : { kind: "placed" });
    const [call] = await sendTo(bench, 1);
    await bench.simulate(200);
    expect(idsDialed(bench)).toEqual([call?.id, call?.id, call?.id]);
    expect(await entries(bench)).toMatchObject([{ call: call?.id, at: bench.dialed.at(-1)?.at }]);
  });

  it("keeps the entry of a resend that was not sent, as the first request may have rung", async () => {
    const agents = { agent_sales: { ...webhook, idempotent: true } };
    const bench = capped({ ...one, agents });
    bench.answer = async () => unknown;
    afterClaims(bench, async ({ resent }) => {
      if (!resent) return;
      await pause(bench, { agent: "agent_sales" });
      bench.advance(6_000);
    });
    const [call] = await sendTo(bench, 1);
    await bench.simulate(100);
    expect(call && (await rowOf(bench, call))).toMatchObject({ state: "UNKNOWN", attempt: 2 });
    expect(bench.dialed).toHaveLength(1);
    expect(await entries(bench)).toMatchObject([{ call: call?.id }]);
  });

  it("counts a call at the moment of its permit, seconds after its claim", async () => {
    const bench = capped({ ...one, providers: { webhook: { callsPerSecond: 1 } } });
    bench.breakDocuments({
      // Another process has taken the permits before.
      async takePermits(...asked) {
        const { times, ...taken } = await bench.documents.takePermits(...asked);
        return { ...taken, times: times.map((permitAt) => permitAt + 4_000) };
      },
    });
    const [call] = await sendTo(bench, 1);
    const claimedAt = bench.now();
    await bench.deliver();
    const at = bench.dialed[0]?.at ?? 0;
    expect(call && (await rowOf(bench, call))).toMatchObject({ state: "PLACED", claimedAt });
    expect(at - claimedAt).toBeGreaterThan(4_000);
    expect(await entries(bench)).toMatchObject([{ at }]);
  });

  it("lets a resend go in the place that it has, though the plan's cap is lower by now", async () => {
    const agents = { agent_sales: { ...webhook, idempotent: true } };
    const bench = capped({ agents });
    bench.answer = async () => unknown;
    const [call] = await sendTo(bench, 1);
    await bench.deliver();
    bench.answer = async () => ({ kind: "placed" });
    await sendTo(bench, 1);
    await bench.deliver();
    bench.changePlan({ ...one, agents });
    await bench.simulate(120);
    expect(call && (await stateOf(bench, call))).toBe("PLACED");
    expect(bench.dialed).toHaveLength(3);
  });

  it("delays a resend whose first claim died before it was counted: it has no entry yet", async () => {
    const agents = { agent_sales: { ...webhook, idempotent: true } };
    const bench = capped({ ...one, agents });
    const call = aCallNow(bench, { phone_number: number, timezone: "UTC" });
    const row = await putIn(bench, "UNKNOWN", call, { dueAt: bench.now() });
    await put(bench, {
      ...row,
      version: "idempotent",
      route: bench.plan.agents["agent_sales"] ?? null,
    });
    const [other] = await sendTo(bench, 1);
    await bench.deliver();
    await bench.simulate(200);
    expect(idsDialed(bench)).toEqual([other?.id]);
    // Its look-up is not delayed, and at last it goes to review.
    expect(await rowOf(bench, call)).toMatchObject({ state: "UNKNOWN", resent: true });
    await bench.simulate(200);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });

  it("keeps the entry of a later claim when a holder that stood still comes to count its own", async () => {
    const agents = { agent_sales: { ...webhook, idempotent: true } };
    const bench = capped({ ...one, agents });
    const { promise: thawed, resolve: thaw } = Promise.withResolvers<void>();
    let reads = 0;
    bench.breakDocuments({
      async read(keys) {
        if (keys.some(({ kind }) => kind === "cap") && reads++ === 0) await thawed;
        return bench.documents.read(keys);
      },
    });
    const [call] = await sendTo(bench, 1);
    const frozen = bench.deliver();
    await expect.poll(() => reads).toBe(1);
    bench.advance(60_000);
    await bench.sweep();
    bench.advance(10_000);
    await bench.send(due(call ?? { id: "" }));
    await bench.deliver();
    expect(bench.dialed).toHaveLength(1);
    thaw();
    await frozen;
    expect(bench.dialed).toHaveLength(1);
    expect(call && (await stateOf(bench, call))).toBe("PLACED");
    expect(await entries(bench)).toMatchObject([{ call: call?.id }]);
  });

  it("dials nobody while it cannot be looked up, and waits in the call's place", async () => {
    const bench = capped();
    const call = aCallNow(bench, { phone_number: number });
    const dueAt = bench.now() - 1000;
    await putIn(bench, "WAITING", call, { dueAt });
    bench.breakDocuments({
      write: (changes) =>
        changes.some(({ next }) => next.kind === "cap") ? boom() : bench.documents.write(changes),
    });
    await bench.send(due(call));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", dueAt });
    bench.repairLedger();
    await bench.simulate(120);
    expect(idsDialed(bench)).toEqual([call.id]);
  });

  it("makes the call wait, without an entry, after four write conflicts in a row", async () => {
    const bench = capped(one);
    let conflicts = 0;
    bench.breakDocuments({
      async write(changes) {
        if (changes.some(({ next }) => next.kind !== "cap")) return bench.documents.write(changes);
        return conflicts++ < 4 ? changes.map(() => false) : bench.documents.write(changes);
      },
    });
    const [call] = await sendTo(bench, 1);
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(call && (await rowOf(bench, call))).toMatchObject({
      state: "WAITING",
      reason: "max_calls",
    });
    expect(await entries(bench)).toEqual([]);
    await bench.simulate(180);
    expect(bench.dialed).toHaveLength(1);
  });

  it("whose entry cannot be removed only makes the number rest for longer, with a warning", async () => {
    const bench = capped(one);
    bench.answer = async () => ({ kind: "rejected", code: "http_422" });
    bench.breakDocuments({
      write: (changes) => (bench.dialed.length > 0 ? boom() : bench.documents.write(changes)),
    });
    const [call] = await sendTo(bench, 1);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(call && (await stateOf(bench, call))).toBe("REJECTED");
    expect(bench.eventsOf("cap.release_failed")).toMatchObject([{ level: "warning" }]);
  });
});
