import { describe, expect, it } from "vitest";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  boom,
  documentOf,
  pause,
  put,
  putDocument,
  putIn,
  putWaiting,
} from "#test/support/dialer-calls.ts";
import { rowIn } from "#test/support/rows.ts";
import { visitBacklogs } from "#functions/dialer/sweep/visit-backlogs.ts";
import type { Call } from "#shared/calls/call-request.ts";
import { upkeepKey } from "#shared/policy/ledger-epoch.ts";

const startAt = "2026-06-01T10:00Z";
const minute = 60_000;
const breaker = {
  cause: "unreachable" as const,
  code: "time_out",
  openedAt: 0,
  probeAt: 0,
  intervalMs: minute,
  room: 1,
  blamed: [],
};

describe("the figures that a sweep logs", () => {
  it("are zero in an idle service, once a sweep", async () => {
    const bench = createDialerBench({ startAt });
    await bench.sweep();
    bench.advance(minute);
    await bench.sweep();
    const idle = {
      level: "info",
      event: "sweep.measured",
      needs_review: 0,
      due_calls: 0,
      oldest_due_seconds: 0,
      open_breakers: 0,
      oldest_expired_seconds: 0,
    };
    expect(bench.eventsOf("sweep.measured")).toEqual([
      idle,
      { ...idle, oldest_expired_seconds: 60 },
    ]);
  });

  it("say how many calls need review and are due, since when, and how many breakers are open", async () => {
    const bench = createDialerBench({ startAt });
    await pause(bench, { agent: "agent_sales" });
    for (let n = 0; n < 2; n++) await putIn(bench, "NEEDS_REVIEW", aCallNow(bench));
    await putWaiting(bench, 3, 0);
    await putWaiting(bench, 1, 60 * minute);
    await putWaiting(bench, 1, minute, { client: "other" });
    for (const [key, state] of [
      ["account:a", "open"],
      ["account:b", "half_open"],
      ["account:c", "closed"],
    ] as const) {
      await putDocument(bench, { kind: "breaker", key }, { ...breaker, state });
    }
    bench.advance(2 * minute);
    await bench.sweep();
    expect(bench.eventsOf("sweep.measured")).toMatchObject([
      { needs_review: 2, due_calls: 4, oldest_due_seconds: 120, open_breakers: 2 },
    ]);
  });

  it("leave out breakers by which a provider only slows calls down, which raise no alarm either", async () => {
    const bench = createDialerBench({ startAt });
    for (const cause of ["busy", "full"] as const) {
      const value = { ...breaker, cause, state: "open" as const };
      await putDocument(bench, { kind: "breaker", key: `account:${cause}` }, value);
    }
    await bench.sweep();
    expect(bench.eventsOf("sweep.measured")).toMatchObject([{ open_breakers: 0 }]);
  });

  it("leave out test calls, of which no number hides a real one", async () => {
    const bench = createDialerBench({ startAt });
    const client = "test:acme";
    await putIn(bench, "NEEDS_REVIEW", aCallNow(bench));
    bench.advance(1);
    await putWaiting(bench, 3, 0, { client });
    for (let n = 0; n < 120; n++)
      await putIn(bench, "NEEDS_REVIEW", aCallNow(bench, {}, { client }));
    for (const key of ["account:test:acme:twilio", 'backlog:["test:acme","agent_sales","test"]']) {
      await putDocument(bench, { kind: "breaker", key }, { ...breaker, state: "open" });
    }
    bench.advance(minute);
    await bench.sweep();
    expect(bench.eventsOf("sweep.measured")).toMatchObject([
      { needs_review: 1, due_calls: 0, oldest_due_seconds: 0, open_breakers: 0 },
    ]);
  });

  it("stand still at their bounds", async () => {
    const bench = createDialerBench({ startAt });
    for (let n = 0; n < 101; n++) await putIn(bench, "NEEDS_REVIEW", aCallNow(bench));
    await putWaiting(bench, 101, 0);
    bench.advance(minute);
    await bench.sweep();
    expect(bench.eventsOf("sweep.measured")).toMatchObject([
      { needs_review: 100, due_calls: 100, oldest_due_seconds: 60 },
    ]);
  });

  it("are left out if they cannot be read, while the sweep continues", async () => {
    const bench = createDialerBench({ startAt });
    bench.breakLedger({ list: boom });
    await bench.sweep();
    expect(bench.eventsOf("sweep.measured")).toEqual([]);
    expect(bench.eventsOf("sweep.failed")).toHaveLength(1);
    expect(bench.eventsOf("sweep.completed")).toHaveLength(1);
  });
});

describe("a call that may expire undialed", () => {
  it("raises an alarm once a day, from half of expireAfterHours on", async () => {
    const bench = createDialerBench({ startAt, plan: { expireAfterHours: 96 } });
    await pause(bench, { agent: "agent_sales" });
    await putWaiting(bench, 2, 0);
    await putWaiting(bench, 1, 30 * minute);
    const sweepsOf = async (hours: number) => {
      for (let n = 0; n < hours; n++) {
        bench.advance(60 * minute);
        await bench.sweep();
      }
      return bench.eventsOf("calls.overdue");
    };
    expect(await sweepsOf(48)).toEqual([]);
    const alarm = {
      level: "alarm",
      event: "calls.overdue",
      due_at: new Date(Date.parse(startAt)).toISOString(),
    };
    expect(await sweepsOf(24)).toEqual([alarm]);
    expect(await sweepsOf(1)).toEqual([alarm, alarm]);
  });

  it("raises none for test calls", async () => {
    const bench = createDialerBench({ startAt, plan: { expireAfterHours: 96 } });
    await pause(bench, { agent: "agent_sales" });
    await putWaiting(bench, 1, 0, { client: "test:crm", mode: "test" });
    bench.advance(60 * 60 * minute);
    await bench.sweep();
    expect(bench.eventsOf("calls.overdue")).toEqual([]);
  });
});

describe("a call that waits behind more backlogs than one sweep reads", () => {
  const expireAfterHours = 96;

  /** Puts fresh calls of one client into 501 backlogs, and an old call of another client into one behind them. */
  async function fill(more: Partial<Call> = {}) {
    const bench = createDialerBench({ startAt, plan: { expireAfterHours } });
    const old = aCallNow(bench, {}, { client: "z", ...more });
    await pause(bench, { client: "z" });
    await putIn(bench, "WAITING", old, { dueAt: bench.now() });
    bench.advance((expireAfterHours / 2) * 60 * minute + minute);
    const fresh = Array.from({ length: 501 }, (_, n) =>
      rowIn("WAITING", aCallNow(bench, { agent_id: `agent_${n}` }, { client: "a" }), {
        at: bench.now(),
        dueAt: bench.now(),
      }),
    );
    await put(bench, ...fresh);
    return { bench, old };
  }

  const measured = (bench: Bench) => bench.eventsOf("sweep.measured").at(-1);
  const overdueSeconds = (expireAfterHours / 2) * 3_600;

  it("is measured and raises the alarm after a visit of all backlogs, until it has left", async () => {
    const { bench, old } = await fill();
    await bench.upkeep();
    await bench.sweep();
    expect(measured(bench)).toMatchObject({
      due_calls: 500,
      oldest_due_seconds: overdueSeconds + 60,
    });
    expect(bench.eventsOf("calls.overdue")).toMatchObject([
      { level: "alarm", due_at: new Date(Date.parse(startAt)).toISOString() },
    ]);
    await putIn(bench, "CANCELLED", old);
    bench.advance(minute);
    await bench.sweep();
    expect(measured(bench)).toMatchObject({ due_calls: 500, oldest_due_seconds: 60 });
  });

  it("is measured while the next visit is under way", async () => {
    const { bench } = await fill();
    await bench.upkeep();
    bench.advance(60 * minute);
    const stored = await documentOf(bench, upkeepKey.kind, upkeepKey.key);
    if (stored === undefined) throw new Error("there is no upkeep");
    let asked = 0;
    const isOver = () => asked++ > 0;
    const reached = await visitBacklogs(stored.value, { isOver }, bench.deps);
    expect(reached.walk).not.toBeNull();
    await putDocument(bench, upkeepKey, { ...stored.value, ...reached });
    await bench.sweep();
    expect(measured(bench)).toMatchObject({ oldest_due_seconds: overdueSeconds + 3_660 });
    const under = { ...stored.value, ...reached };
    const ended = await visitBacklogs(under, { isOver: () => false }, bench.deps);
    expect(ended.longestDue).toHaveLength(20);
    expect(ended.longestDue?.[0]).toBe(JSON.stringify(["z", "agent_sales"]));
  });

  it("is not noted where a sweep reads all backlogs", async () => {
    const bench = createDialerBench({ startAt });
    await putWaiting(bench, 1, 0);
    await bench.upkeep();
    const stored = await documentOf(bench, upkeepKey.kind, upkeepKey.key);
    expect(stored?.value.waiting?.calls).toBe(1);
    expect(stored?.value).not.toHaveProperty("longestDue");
  });

  it("is not measured if it is a test call", async () => {
    const { bench } = await fill({ client: "test:z", mode: "test" });
    await bench.upkeep();
    await bench.sweep();
    expect(measured(bench)).toMatchObject({ due_calls: 500, oldest_due_seconds: 0 });
  });
});
