import { describe, expect, it } from "vitest";
import { handleMessages } from "../../../functions/dialer/handle-messages.ts";
import { sweep } from "../../../functions/dialer/sweep.ts";
import type { Call } from "../../../shared/calls/call.ts";
import { createDialerBench } from "../../support/dialer.ts";
import {
  allIn,
  type Bench,
  boom,
  callsNow,
  documentOf,
  idsDialed,
  idsHinted,
  loseHints,
  pause,
  putIn,
  putWaiting,
  rowsIn,
  silent,
  statesOf,
  webhook,
} from "../../support/dialer-calls.ts";

const minute = 60_000;
const idsOf = (calls: readonly { id: string }[]) => calls.map(({ id }) => id);
const sweepOf = async (bench: Bench) => (await documentOf(bench, "sweep", "sweep"))?.value;
/** Begins a sweep, which waits in the bench's clock alone. */
const begin = (bench: Bench) => sweep(bench.deps, bench.now() + 120_000);

describe("a sweep", () => {
  it("calls up rows within 75 s, so that each is dialed at its time, and no others", async () => {
    const bench = createDialerBench();
    const late = await putWaiting(bench, 1, -5_000);
    const soon = await putWaiting(bench, 1, 30_001);
    const later = await putWaiting(bench, 1, 74_000);
    await putWaiting(bench, 1, 76_000);
    await bench.sweep();
    expect(idsHinted(bench)).toEqual(idsOf([...late, ...soon, ...later]));
    expect(bench.delays()).toEqual([0, 27, 70]);
    const from = bench.now();
    await bench.simulate(75, { sweepSeconds: 1000 });
    expect(bench.dialed.map(({ at }) => at - from)).toEqual([0, 30_001, 74_000]);
  });

  it("sends hints of at most 25 ids, twice a delivery's concurrency, and the same second", async () => {
    for (const [concurrency, size] of [
      [5, 10],
      [25, 25],
    ] as const) {
      const bench = createDialerBench({ concurrency });
      await putWaiting(bench, 60, 10_000);
      await putWaiting(bench, 3, 20_000);
      await bench.sweep();
      const sizes = bench.queued().map((one) => one.kind === "due" && one.ids.length);
      const whole = Array.from({ length: Math.floor(60 / size) }, () => size);
      expect(sizes).toEqual([...whole, ...(60 % size === 0 ? [] : [60 % size]), 3]);
    }
  });

  it("writes no row to call it up", async () => {
    const bench = createDialerBench();
    const calls = await putWaiting(bench, 20, 10_000);
    const before = new Map(bench.stored);
    await bench.sweep();
    expect(bench.stored).toEqual(before);
    expect(idsHinted(bench)).toHaveLength(calls.length);
  });

  it("does not call up again what is on its way, and calls up what comes after it", async () => {
    const bench = createDialerBench();
    const first = await putWaiting(bench, 5, 50_000);
    await bench.sweep();
    bench.advance(10_000);
    const second = await putWaiting(bench, 5, 50_000);
    await bench.sweep();
    expect(idsHinted(bench)).toEqual(idsOf([...first, ...second]));
  });

  it("calls up rows of a lost hint again, 30 s after their time", async () => {
    const bench = createDialerBench();
    const calls = await putWaiting(bench, 30, 20_000);
    const queue = loseHints(bench);
    await bench.sweep();
    expect(queue.lost).toEqual(idsOf(calls));
    queue.mend();
    bench.advance(49_000); // 29 s after their time
    await bench.sweep();
    expect(idsHinted(bench)).toEqual([]);
    bench.advance(2_000);
    await bench.sweep();
    expect(idsHinted(bench)).toEqual(idsOf(calls));
    await bench.deliver();
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
  });

  it.each([undefined, 1])(
    "dials everything though every other hint is lost, at %s calls a second",
    async (callsPerSecond) => {
      const plan =
        callsPerSecond === undefined ? {} : { providers: { webhook: { callsPerSecond } } };
      const bench = createDialerBench({ plan });
      const { queue } = bench.deps;
      let sent = 0;
      bench.deps.queue = {
        ...queue,
        async sendMany(messages) {
          await queue.sendMany(messages.filter(() => sent++ % 2 === 0));
          return messages.length;
        },
      };
      const calls = await putWaiting(bench, 200, 0);
      await bench.simulate(1800);
      expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
      expect(bench.dialed).toHaveLength(200);
    },
  );

  it("goes on from where the queue refused hints, and moves no mark past it", async () => {
    const bench = createDialerBench({ concurrency: 5 });
    const { queue } = bench.deps;
    const calls = await putWaiting(bench, 50, 10_000);
    bench.deps.queue = { ...queue, sendMany: (messages) => queue.sendMany(messages.slice(0, 2)) };
    await bench.sweep();
    expect(idsHinted(bench)).toEqual(idsOf(calls.slice(0, 20)));
    bench.deps.queue = { ...queue, sendMany: async () => 0 };
    await bench.sweep();
    expect(idsHinted(bench)).toHaveLength(20);
    bench.deps.queue = queue;
    await bench.sweep();
    expect(idsHinted(bench)).toEqual(idsOf(calls));
  });

  it("calls up nothing of a paused agent, and a row of it whose hint comes stays", async () => {
    const bench = createDialerBench();
    const paused = await putWaiting(bench, 10, 0);
    const others = callsNow(bench, 10, { agent_id: "agent_support" });
    for (const call of others) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    await pause(bench, { agent: "agent_sales" });
    for (let n = 0; n < 5; n++) {
      await bench.sweep();
      bench.advance(minute);
    }
    expect(new Set(idsHinted(bench))).toEqual(new Set(idsOf(others)));
    await bench.send({ kind: "due", ids: idsOf(paused) });
    await bench.deliver();
    expect(await statesOf(bench, paused)).toEqual(allIn(paused, "WAITING"));
    expect(new Set(idsDialed(bench))).toEqual(new Set(idsOf(others)));
  });

  it.each([3, 10, 40, 44, 46, 50, 90, 1000])(
    "calls up at once all rows that came due while no sweep ran for %i minutes",
    async (minutes) => {
      const bench = createDialerBench();
      await bench.sweep();
      const [call] = await putWaiting(bench, 1, 180_000);
      await bench.sweep();
      bench.advance(180_000 + minutes * minute);
      await bench.sweep();
      await bench.deliver();
      expect(idsDialed(bench)).toEqual([call?.id]);
    },
  );

  it("finds a row that was written just before everything stood still for an hour", async () => {
    const bench = createDialerBench();
    const [call] = await putWaiting(bench, 1, 180_000);
    bench.advance(2 * 3600_000);
    await bench.sweep();
    await bench.deliver();
    expect(idsDialed(bench)).toEqual([call?.id]);
  });

  it("serves any number of backlogs, a page after the other, and goes on where it had no time", async () => {
    const bench = createDialerBench();
    const calls: Call[] = [];
    for (let n = 0; n < 1200; n++) {
      calls.push(...(await putWaiting(bench, 1, 0, { client: `client-${n}` })));
    }
    const { list } = bench.documents;
    let pages = 0;
    bench.breakDocuments({
      async list(kind, query) {
        pages += 1;
        bench.advance(30_000); // slow: a sweep has 45 s
        return list(kind, query);
      },
    });
    await bench.sweep();
    expect(pages).toBe(2);
    expect(await sweepOf(bench)).toMatchObject({ backlogsAfter: expect.any(String) });
    expect(bench.eventsOf("sweep.full")).toEqual([]);
    bench.mendLedger();
    await bench.sweep();
    expect(bench.eventsOf("sweep.full")).toHaveLength(1);
    expect(new Set(idsHinted(bench))).toEqual(new Set(idsOf(calls)));
  });

  it("reaches a paced account past 340 agents that operators hold, in few queries", async () => {
    const agents = Object.fromEntries(
      Array.from({ length: 340 }, (_, n) => [`held_${n}`, { ...webhook, provider: "others" }]),
    );
    const bench = createDialerBench({
      plan: {
        agents: { ...agents, paced: webhook },
        providers: { webhook: { callsPerSecond: 5 }, others: { type: "webhook" } },
      },
    });
    for (const agent_id of Object.keys(agents)) {
      const [call] = callsNow(bench, 1, { agent_id });
      if (call !== undefined) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
      await pause(bench, { agent: agent_id });
    }
    const paced = callsNow(bench, 10, { agent_id: "paced" });
    for (const call of paced) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    await bench.sweep(); // the first visit of each
    bench.advance(minute);
    let queries = 0;
    const counting = <Port extends object>(port: Port): Port =>
      new Proxy(port, {
        get(target, name, receiver) {
          queries += 1;
          return Reflect.get(target, name, receiver) as unknown;
        },
      });
    bench.deps.ledger = counting(bench.rows);
    bench.deps.documents = counting(bench.documents);
    await bench.sweep();
    expect(queries).toBeLessThanOrEqual(20);
    expect(idsHinted(bench)).toEqual(expect.arrayContaining(idsOf(paced)));
    expect(bench.eventsOf("sweep.full")).toHaveLength(2);
  });

  it("reads what is watched through to its end, page by page", async () => {
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
    await putWaiting(bench, 3, 10_000);
    let looked = 0;
    bench.breakDocuments({
      list(kind, query) {
        looked += 1;
        return bench.documents.list(kind, query);
      },
    });
    await Promise.all([begin(bench), begin(bench), begin(bench)]);
    expect(looked).toBe(1);
    expect(idsHinted(bench)).toHaveLength(3);
  });

  it("follow one that died within a minute, and take up where it stood", async () => {
    const bench = createDialerBench();
    const calls = await putWaiting(bench, 3, 10_000);
    bench.breakDocuments({ list: silent }); // the sweep dies here, right after taking its lease
    void begin(bench);
    await new Promise((resolve) => setImmediate(resolve));
    bench.mendLedger();
    expect((await sweepOf(bench))?.leaseUntil).toBe(bench.now() + 55_000);
    bench.advance(54_000);
    await bench.sweep();
    expect(idsHinted(bench)).toEqual([]);
    bench.advance(1_000);
    await bench.sweep();
    expect(idsHinted(bench)).toEqual(idsOf(calls));
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
    bench.mendLedger();
    bench.advance(minute);
    await bench.sweep();
    expect(await sweepOf(bench)).toMatchObject({ fullRoundAt: bench.now() });
    expect(bench.eventsOf("sweep.full")).toHaveLength(2);
  });

  it("without a full round for five minutes raise an alarm in the next delivery", async () => {
    const bench = createDialerBench();
    await bench.sweep();
    const deliver = () => handleMessages([], bench.deps, bench.now() + 900_000);
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
