import { describe, expect, it } from "vitest";
import { createDialerBench } from "#test/support/dialer.ts";
import { type Bench, pause, putDocument, putWaiting } from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const startAt = "2026-06-01T10:00Z";
const minute = 60_000;

/** Notes that a dispatcher beat this long ago. */
const beat = (bench: Bench, agoMs: number) =>
  putDocument(bench, { kind: "dispatcher", key: "dispatcher" } as const, {
    holder: "one",
    since: bench.now() - agoMs,
    beatAt: bench.now() - agoMs,
    accounts: {},
  });
const alarms = (bench: Bench) => bench.eventsOf("dispatcher.silent");

describe("a dispatcher that does not beat", () => {
  it("raises an alarm at each sweep once a call has been due without a beat for three minutes", async () => {
    const bench = createDialerBench({ startAt });
    await beat(bench, 0);
    await putWaiting(bench, 1, 0);
    const beatenAt = new Date(bench.now()).toISOString();
    bench.advance(3 * minute - 1);
    await bench.sweep();
    expect(alarms(bench)).toEqual([]);
    bench.advance(1);
    await bench.sweep();
    bench.advance(minute);
    await bench.sweep();
    const alarm = { level: "alarm", event: "dispatcher.silent", due_at: beatenAt };
    expect(alarms(bench)).toEqual([alarm, alarm]);
  });

  it("raises one where none has ever run", async () => {
    const bench = createDialerBench({ startAt });
    await putWaiting(bench, 1, 0);
    bench.advance(3 * minute);
    await bench.sweep();
    expect(alarms(bench)).toMatchObject([{ level: "alarm" }]);
  });

  it("raises none while nothing is due, or has been due for less than three minutes", async () => {
    const bench = createDialerBench({ startAt });
    await putWaiting(bench, 1, 60 * minute);
    bench.advance(10 * minute);
    await bench.sweep();
    await putWaiting(bench, 1, 0, { client: "other" });
    bench.advance(2 * minute);
    await bench.sweep();
    expect(alarms(bench)).toEqual([]);
  });

  it("raises none while one beats that has nothing to hand out: paused calls are due for long", async () => {
    const bench = createDialerBench({ startAt });
    await pause(bench, { agent: "agent_sales" });
    await putWaiting(bench, 5, 0);
    for (let n = 0; n < 6; n++) {
      await bench.dispatch();
      bench.advance(minute);
      await bench.sweep();
    }
    expect(bench.dialed).toEqual([]);
    expect(alarms(bench)).toEqual([]);
  });

  it(
    "is noticed among hundreds of backlogs without due calls, in a bounded number of queries",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ startAt });
      for (let n = 0; n < 250; n++) {
        await putWaiting(bench, 1, 60 * minute, { client: `client_${String(n).padStart(3, "0")}` });
      }
      await putWaiting(bench, 1, 0, { client: "client_z" });
      bench.advance(4 * minute);
      await bench.sweep();
      expect(alarms(bench)).toHaveLength(1);
      for (let n = 250; n < 600; n++) {
        await putWaiting(bench, 1, 60 * minute, { client: `client_${n}` });
      }
      let asked = 0;
      bench.breakLedger({
        due: (query) => {
          if (query.each === 1 && query.lanes.some(({ key }) => key.includes("client_")))
            asked += 1;
          return bench.rows.due(query);
        },
      });
      await bench.sweep();
      expect(asked).toBe(5);
      expect(alarms(bench)).toHaveLength(2);
    },
  );
});
