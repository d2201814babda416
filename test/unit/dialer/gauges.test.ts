import { describe, expect, it } from "vitest";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  boom,
  pause,
  putDocument,
  putIn,
  putWaiting,
} from "#test/support/dialer-calls.ts";

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
