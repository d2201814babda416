import { consumeCalls, sweep } from "#test/support/entries.ts";
import { toAccountName } from "#shared/calls/ids.ts";
import { routeFrom } from "#test/support/plans.ts";
import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  allIn,
  type Bench,
  boom,
  callsNow,
  documentOf,
  idsDispatched,
  pause,
  putIn,
  putWaiting,
  rowsIn,
  silent,
  statesOf,
  webhook,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const minute = 60_000;
const startAt = "2026-06-01T10:00Z";
const never = aCall();
/** A route whose provider has records to look into. */
const route = { account: toAccountName("vapi"), provider: "vapi", agent: "a", from: "n" } as const;
const idsOf = (calls: readonly { id: string }[]) => calls.map(({ id }) => id);
const sweepOf = async (bench: Bench) => (await documentOf(bench, "sweep", "sweep"))?.value;
/** Begins a sweep, which waits in the bench's clock alone. */
const begin = (bench: Bench) => sweep(bench.deps, bench.now() + 120_000);

describe("a sweep", () => {
  it("sends unknown outcomes that are due to be looked up, each with its account", async () => {
    const bench = createDialerBench();
    const calls = callsNow(bench, 30);
    for (const call of calls) await putIn(bench, "UNKNOWN", call, { dueAt: bench.now(), route });
    const later = { dueAt: bench.now() + minute, route };
    await putIn(bench, "UNKNOWN", callsNow(bench, 1)[0] ?? never, later);
    await bench.sweep();
    expect(idsDispatched(bench).toSorted()).toEqual(idsOf(calls).toSorted());
  });

  it("sends those that may go now, however many before them may not", inSlowTier, async () => {
    const again = { ...webhook, idempotent: true };
    const callingHours = { default: { "mon-sun": ["09:00-17:00"] } };
    const bench = createDialerBench({
      startAt,
      plan: { agents: { agent_sales: again }, callingHours },
    });
    const dueAt = bench.now();
    const resent = { dueAt, route: routeFrom("webhook", again) };
    const closed = callsNow(bench, 600, { timezone: "+09:00" });
    for (const call of closed) await putIn(bench, "UNKNOWN", call, resent);
    bench.advance(1);
    const open = callsNow(bench, 3, { timezone: "UTC" });
    for (const call of open) await putIn(bench, "UNKNOWN", call, { ...resent, dueAt: bench.now() });
    await bench.sweep();
    expect(idsDispatched(bench).toSorted()).toEqual(idsOf(open).toSorted());
    await bench.deliver();
    expect(await statesOf(bench, open)).toEqual(allIn(open, "PLACED"));
  });

  it("ends calls past their time once an hour, also of a paused agent", async () => {
    const bench = createDialerBench({ plan: { expireAfterHours: 1 }, startAt });
    await bench.sweep();
    await pause(bench, { agent: "agent_sales" });
    const calls = await putWaiting(bench, 300, 0);
    bench.advance(50 * minute);
    await bench.sweep();
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "WAITING"));
    bench.advance(11 * minute);
    await bench.sweep();
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "EXPIRED"));
  });

  it("counts the waiting calls of all backlogs at each visit, for views that count fewer themselves", async () => {
    const bench = createDialerBench({ startAt });
    const counted = async () => (await documentOf(bench, "upkeep", "upkeep"))?.value.waiting;
    await putWaiting(bench, 30, 0);
    await putWaiting(bench, 12, 0, { client: "shop" });
    const at = bench.now();
    await bench.sweep();
    expect(await counted()).toEqual({ calls: 42, at });
    await putWaiting(bench, 5, 0);
    bench.advance(6 * minute);
    await bench.sweep();
    expect(await counted()).toEqual({ calls: 42, at });
    bench.advance(60 * minute);
    const later = bench.now();
    await bench.sweep();
    expect(await counted()).toEqual({ calls: 47, at: later });
  });

  it("counts them every five minutes where more wait than views count", async () => {
    const bench = createDialerBench({ startAt });
    await bench.sweep();
    const upkeep = await documentOf(bench, "upkeep", "upkeep");
    if (upkeep === undefined) throw new Error("nothing was visited");
    const value = { ...upkeep.value, waiting: { calls: 50_001, at: bench.now() } };
    const next = { ...upkeep, version: "many", value };
    await bench.documents.write([{ next, seen: upkeep.version }]);
    await putWaiting(bench, 3, 0);
    bench.advance(6 * minute);
    await bench.sweep();
    expect((await documentOf(bench, "upkeep", "upkeep"))?.value.waiting?.calls).toBe(3);
  });

  it("removes the document of a backlog that is empty and was not used for two hours", async () => {
    const bench = createDialerBench({ startAt });
    const [call] = await putWaiting(bench, 1, 0);
    const current = async () => (await bench.documents.list("backlog", { limit: 9 })).length;
    bench.advance(3 * 60 * minute);
    await bench.sweep();
    expect(await current()).toBe(1); // its row waits
    await putIn(bench, "PLACED", call ?? never);
    bench.advance(61 * minute);
    await bench.sweep();
    expect(await current()).toBe(0);
  });

  it(
    "goes through any number of backlogs, and resumes where its time ran out",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ plan: { expireAfterHours: 1 }, startAt });
      const clients = Array.from({ length: 700 }, (_, n) => `client_${n}`);
      const calls: Call[] = [];
      for (const client of clients) calls.push(...(await putWaiting(bench, 1, 0, { client })));
      bench.advance(2 * 60 * minute);
      bench.breakLedger({
        async due(query) {
          bench.advance(100);
          return bench.rows.due(query);
        },
      });
      for (let n = 0; n < 3; n++) {
        await bench.sweep();
        bench.advance(minute);
      }
      expect(await statesOf(bench, calls)).toEqual(allIn(calls, "EXPIRED"));
    },
  );

  it("reads what is watched through to its end, page by page", inSlowTier, async () => {
    const bench = createDialerBench();
    for (const call of callsNow(bench, 1200)) {
      await putIn(bench, "DIALING", call, { at: bench.now() - minute });
    }
    await bench.sweep();
    expect(await rowsIn(bench, "UNKNOWN")).toHaveLength(1200);
  });
});

describe("sweeps", () => {
  it("that start at once run as one", async () => {
    const bench = createDialerBench();
    let looked = 0;
    bench.breakLedger({
      dialing(limit) {
        looked += 1;
        return bench.rows.dialing(limit);
      },
    });
    await Promise.all([begin(bench), begin(bench), begin(bench)]);
    expect(looked).toBe(1);
  });

  it("follow one that died within a minute, and take up where it stood", async () => {
    const bench = createDialerBench();
    const calls = callsNow(bench, 3);
    for (const call of calls) await putIn(bench, "UNKNOWN", call, { dueAt: bench.now(), route });
    bench.breakLedger({ dialing: silent }); // the sweep dies here, right after taking its lease
    void begin(bench);
    await new Promise((resolve) => setImmediate(resolve));
    bench.repairLedger();
    expect((await sweepOf(bench))?.leaseUntil).toBe(bench.now() + 55_000);
    bench.advance(54_000);
    await bench.sweep();
    expect(idsDispatched(bench)).toEqual([]);
    bench.advance(1_000);
    await bench.sweep();
    expect(idsDispatched(bench).toSorted()).toEqual(idsOf(calls).toSorted());
    expect((await sweepOf(bench))?.leaseUntil).toBe(0);
  });

  it("record when the last full round began, and a failed one does not count", async () => {
    const bench = createDialerBench();
    await bench.sweep();
    const firstAt = bench.now();
    expect(await sweepOf(bench)).toMatchObject({ fullRoundAt: firstAt, leaseUntil: 0 });
    bench.advance(minute);
    bench.breakLedger({ due: boom });
    await bench.sweep();
    expect(await sweepOf(bench)).toMatchObject({ fullRoundAt: firstAt, leaseUntil: 0 });
    expect(bench.eventsOf("sweep.failed")[0]).toMatchObject({ level: "alarm" });
    bench.repairLedger();
    bench.advance(minute);
    await bench.sweep();
    expect(await sweepOf(bench)).toMatchObject({ fullRoundAt: bench.now() });
    expect(bench.eventsOf("sweep.completed")).toHaveLength(2);
  });

  it("without a full round for five minutes raise an alarm in the next delivery", async () => {
    const bench = createDialerBench();
    await bench.sweep();
    const deliver = () => consumeCalls([], bench.deps, bench.now() + 900_000);
    bench.advance(5 * minute);
    await deliver();
    expect(bench.eventsOf("sweep.late")).toEqual([]);
    bench.advance(minute);
    await deliver();
    await deliver();
    expect(bench.eventsOf("sweep.late")).toMatchObject([{ level: "alarm" }]);
    await bench.sweep();
    bench.advance(minute);
    await deliver();
    expect(bench.eventsOf("sweep.late")).toHaveLength(1);
  });
});
