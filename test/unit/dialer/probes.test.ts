import { describe, expect, it } from "vitest";
import {
  account,
  breakerOf,
  createBreakersBench as createBench,
  openBreaker,
  own,
  placed,
  putDue,
  refused,
  stateOfBreaker,
} from "#test/support/breakers-bench.ts";
import { allIn, dispatchOf, inUtc, rowOf, statesOf } from "#test/support/dialer-calls.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

describe("a probe", () => {
  it("is one call, however many deliveries ask for it at once", async () => {
    const bench = createBench();
    bench.answer = async () => refused;
    const calls = await putDue(bench, 10);
    bench.advance(60_000);
    const before = await Promise.all(calls.map((call) => rowOf(bench, call)));
    const probeAt = bench.now();
    await openBreaker(bench, account, { openedAt: probeAt - 60_000, probeAt });
    await bench.send(dispatchOf(calls.slice(0, 5), "vapi"));
    const first = bench.deliver();
    await bench.send(dispatchOf(calls.slice(5), "vapi"));
    await Promise.all([first, bench.deliver()]);
    expect(bench.dialed).toHaveLength(1);
    const { at: dialedAt, call: dialed } = bench.dialed[0] ?? {};
    // A call that lost the probe waits on in its place. The one that won it and failed goes behind the others.
    for (const row of before) {
      const { state, dueAt } = await rowOf(bench, row);
      expect(state).toBe("WAITING");
      expect(dueAt).toBe(row.id === dialed?.id ? dialedAt : row.dueAt);
    }
    expect(await breakerOf(bench, account)).toMatchObject({
      state: "open",
      probeAt: (dialedAt ?? 0) + 60_000,
      intervalMs: 120_000,
    });
  });

  it("is given back where nothing was sent", async () => {
    const bench = createBench();
    const call = firstOf(await putDue(bench, 1));
    const probeAt = bench.now();
    await openBreaker(bench, account, { probeAt });
    bench.breakDocuments({
      async write(changes) {
        const written = await bench.documents.write(changes);
        // The process freezes as soon as the probe is taken.
        const isProbe = changes[0]?.next.kind === "breaker" && bench.now() < probeAt + 5_000;
        if (isProbe) bench.advance(10_001);
        return written;
      },
    });
    await bench.send(dispatchOf([call], "vapi"));
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ reason: "claim_too_old", dueAt: probeAt });
    expect(await breakerOf(bench, account)).toMatchObject({ probeAt, intervalMs: 60_000 });
  });

  it("is given back where another call has won that of the other breaker", async () => {
    const bench = createBench();
    const call = firstOf(await putDue(bench, 1));
    const probeAt = bench.now();
    await openBreaker(bench, account, { probeAt });
    await openBreaker(bench, own, { probeAt });
    bench.breakDocuments({
      write: async (changes) =>
        changes[0]?.next.key === own ? [false] : bench.documents.write(changes),
    });
    await bench.send(dispatchOf([call], "vapi"));
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", dueAt: probeAt });
    expect(await breakerOf(bench, account)).toMatchObject({ probeAt, intervalMs: 60_000 });
  });

  it("that failed does not change who may probe, where the breaker cannot be written", async () => {
    const bench = createBench();
    bench.answer = async () => refused;
    const call = firstOf(await putDue(bench, 1));
    bench.breakDocuments({
      write: (changes) =>
        changes.some(({ next }) => next.kind === "breaker")
          ? Promise.reject(new Error("unreachable"))
          : bench.documents.write(changes),
    });
    await bench.send(dispatchOf([call], "vapi"));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "http_401" });
    expect(bench.eventsOf("breaker.update_failed")).toMatchObject([{ level: "warning" }]);
  });

  it(
    "is another call each time, so that one bad call does not hold the rest",
    inSlowTier,
    async () => {
      const bench = createBench();
      const [bad, ...calls] = await putDue(bench, 21);
      bench.answer = async ({ id }) => (id === bad?.id ? refused : placed);
      await bench.simulate(130);
      expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
    },
  );

  it("goes past calls at the head of its backlog that may not be dialed", inSlowTier, async () => {
    const bench = createBench();
    bench.changePlan({ callingHours: { default: { "mon-sun": ["09:00-17:00"] } } });
    await putDue(bench, 250, { timezone: "+09:00" }); // closed at ten o'clock UTC
    bench.advance(1);
    const [open] = await putDue(bench, 1, inUtc());
    await openBreaker(bench, own, { probeAt: bench.now() });
    await bench.simulate(20);
    expect(bench.dialed).toMatchObject([{ call: { id: open?.id } }]);
    expect(await stateOfBreaker(bench, own)).toBeUndefined();
  });
});
