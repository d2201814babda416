import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createWaits } from "#functions/dialer/dispatch/waits.ts";
import { listUnready, readinessKeys } from "#shared/policy/readiness.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  type Bench,
  boom,
  documentOf,
  pause,
  putWaiting,
  statesOf,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const startAt = "2026-06-01T10:00Z";
const waitsOf = async (bench: Bench) =>
  (await documentOf(bench, "dispatcher", "dispatcher"))?.value.waits;
/** Returns the backlogs that have waited for half a minute: others have just been dispatched. */
const longWaitsOf = async (bench: Bench) =>
  Object.entries((await waitsOf(bench)) ?? {}).filter(([, since]) => bench.now() - since > 30_000);
const problemsOf = async (bench: Bench) =>
  listUnready(await bench.documents.read(readinessKeys), bench.now());

/** Has the queue take no messages until `fix`. */
function breakQueue(bench: Bench): { fix(): void } {
  const { sendMany } = bench.deps.queue;
  bench.deps.queue.sendMany = async () => 0;
  return { fix: () => void (bench.deps.queue.sendMany = sendMany) };
}

describe("a backlog that waits without a reason", () => {
  it.each([false, true])(
    "makes the service unready after ten minutes, across dispatchers, until one dispatches (ends idle: %s)",
    inSlowTier,
    async (endsIdle) => {
      const bench = createDialerBench({ startAt });
      bench.deps.dispatcher = { ...bench.deps.dispatcher, lifeMs: 50_000, endsIdle };
      const queue = breakQueue(bench);
      const calls = await putWaiting(bench, 3, 0);
      await bench.simulate(590);
      expect(await problemsOf(bench)).toEqual([]);
      expect(Object.values((await waitsOf(bench)) ?? {})).toEqual([expect.any(Number)]);
      await bench.simulate(30);
      expect(await problemsOf(bench)).toEqual([expect.stringContaining("due and allowed")]);
      queue.fix();
      await bench.simulate(65);
      expect(await problemsOf(bench)).toEqual([]);
      expect(await statesOf(bench, calls)).toEqual(["PLACED", "PLACED", "PLACED"]);
    },
  );

  it.each([1, 8])(
    "makes the service unready if the queue takes its calls and delivers none (clients: %i)",
    inSlowTier,
    async (clients) => {
      const bench = createDialerBench({ startAt });
      bench.deps.dispatcher = { ...bench.deps.dispatcher, lifeMs: 50_000 };
      const { sendMany } = bench.deps.queue;
      bench.deps.queue.sendMany = async (messages) => messages.length;
      const all = [];
      for (let n = 0; n < clients; n++) {
        const client = `client_${n}`;
        all.push(...(await putWaiting(bench, 3, n * 10, { client })));
      }
      await bench.simulate(590);
      expect(await problemsOf(bench)).toEqual([]);
      expect(Object.values((await waitsOf(bench)) ?? {})).toHaveLength(clients);
      await bench.simulate(40);
      expect(await problemsOf(bench)).toEqual([expect.stringContaining("due and allowed")]);
      bench.deps.queue.sendMany = sendMany;
      await bench.simulate(65);
      expect(await problemsOf(bench)).toEqual([]);
      expect(new Set(await statesOf(bench, all))).toEqual(new Set(["PLACED"]));
    },
  );

  it(
    "is not one that is paused, whose account's pace is used up, or whose breaker is open",
    inSlowTier,
    async () => {
      const bench = createDialerBench({
        startAt,
        plan: { providers: { webhook: { callsPerSecond: 0.02 } } },
      });
      await putWaiting(bench, 40, 0);
      await bench.simulate(700);
      expect(await longWaitsOf(bench)).toEqual([]);
      const paused = createDialerBench({ startAt });
      await pause(paused, { agent: "agent_sales" });
      await putWaiting(paused, 3, 0);
      await paused.simulate(700);
      expect([await waitsOf(paused), await problemsOf(paused)]).toEqual([{}, []]);
      const failing = createDialerBench({ startAt });
      failing.answer = async () => ({ kind: "unknown", code: "http_500" });
      await putWaiting(failing, 40, 0);
      await failing.simulate(700);
      expect(await longWaitsOf(failing)).toEqual([]);
    },
  );

  it("is not one that is held by long requests", inSlowTier, async () => {
    const bench = createDialerBench({ startAt, concurrency: 2, consumers: 1 });
    bench.answer = async () => {
      await bench.sleep(100_000);
      return { kind: "placed" };
    };
    await putWaiting(bench, 12, 0);
    await bench.simulate(650, { consumers: 1 });
    expect(await problemsOf(bench)).toEqual([]);
  });
});

describe("a dispatcher's last look", () => {
  it("is noted each minute, though nothing is due and dispatchers end at once", async () => {
    const bench = createDialerBench({ startAt });
    bench.deps.dispatcher = { ...bench.deps.dispatcher, endsIdle: true };
    for (let minute = 0; minute < 20; minute++) {
      await bench.simulate(60);
      expect(await problemsOf(bench)).toEqual([]);
    }
  });

  it("is not noted by looks that fail, though their dispatchers beat", async () => {
    const bench = createDialerBench({ startAt });
    bench.deps.dispatcher = { ...bench.deps.dispatcher, lifeMs: 50_000 };
    await putWaiting(bench, 1, 0);
    await bench.simulate(60);
    const { tickedAt = 0 } = (await documentOf(bench, "dispatcher", "dispatcher"))?.value ?? {};
    const { list } = bench.documents;
    bench.breakDocuments({
      list: (kind, query) => (kind === "breaker" ? boom() : list(kind, query)),
    });
    await bench.simulate(330);
    const after = (await documentOf(bench, "dispatcher", "dispatcher"))?.value;
    expect(after?.tickedAt).toBe(tickedAt);
    expect(bench.now() - (after?.beatAt ?? 0)).toBeLessThan(120_000);
    expect(await problemsOf(bench)).toEqual(["no dispatcher has looked for five minutes"]);
  });
});

describe("the notes of backlogs that wait", () => {
  it("name each backlog from when it was first left, until a look serves it or finds nothing due", () => {
    const keys = ["a", "b", "c"];
    const look = fc.record({
      left: fc.subarray(keys),
      unknown: fc.subarray(keys),
      isNext: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(look, { maxLength: 30 }), (looks) => {
        let waits = createWaits();
        const since = new Map<string, number>();
        for (const [at, { left, unknown, isNext }] of looks.entries()) {
          // The next dispatcher goes on with what the last one has left.
          if (isNext) waits = createWaits(waits.toDocument());
          waits.note({ left, isUnknown: (key) => unknown.includes(key) }, at);
          for (const key of keys) {
            if (left.includes(key)) since.set(key, since.get(key) ?? at);
            else if (!unknown.includes(key)) since.delete(key);
          }
          expect(waits.toDocument()).toEqual(Object.fromEntries(since));
        }
      }),
    );
  });

  it("name twenty at most, those that wait longest", () => {
    const former = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`b${n}`, 50 - n]));
    const kept = createWaits(former).toDocument();
    expect(Object.values(kept).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 1),
    );
  });
});
