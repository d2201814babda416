import { readyDeps } from "#test/support/entries.ts";
import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import type { CallEvent } from "#shared/calls/call-event.ts";
import { applyAction } from "#shared/calls/transitions.ts";
import { toDeliverMessages } from "#shared/events/outbox-ledger.ts";
import {
  createEventsBench,
  failed,
  taken,
  deliverFor,
  deliverNow,
  toldTo,
  typesOf,
} from "#test/support/events-bench.ts";
import { aCallNow, type Bench, boom, putIn, rowOf } from "#test/support/dialer-calls.ts";
import {
  completed,
  createBench,
  live,
  minuteMs,
  place as placeSome,
  route,
} from "#test/support/results-bench.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const quick = { providers: { twilio: { callsPerSecond: 100 } } };

/** Places one call. */
async function place(bench: Bench): Promise<Call> {
  const call = firstOf(await placeSome(bench, 1));
  return call;
}

/** Writes a row through the ledger that the dialer uses. */
async function write(bench: Bench, next: Awaited<ReturnType<typeof rowOf>>): Promise<void> {
  const seen = (await bench.row(next.id))?.version ?? null;
  expect(await readyDeps(bench.deps).ledger.write([{ next, seen }])).toEqual([true]);
}

/** Has events of these calls told by one message. */
const sendDeliver = (bench: Bench, calls: readonly Call[], swept = false) =>
  bench.eventsQueue.sendMany(
    toDeliverMessages("*", { calls: calls.map(({ id }) => id), swept }, bench.now()),
  );

/** Events of a call as its row has them. */
const eventsOf = async (bench: Bench, call: { id: string }): Promise<CallEvent[]> =>
  (await rowOf(bench, call)).events;

describe("what an event says", () => {
  it(
    "stays the same when the provider's records say something else later",
    inSlowTier,
    async () => {
      const types = ["call.answered", "call.ended"];
      const bench = createBench({ waitMinutes: 5 }, toldTo({ types }));
      const call = await place(bench);
      const answeredAt = bench.now();
      bench.record = async () => ({ ...live, word: "in-progress", answeredAt });
      bench.receive = async () => failed;
      await deliverFor(bench, 9);
      const first = new Map(bench.posted.map(({ id, body }) => [id, body]));
      expect([...first.values()].map(({ data }) => data["result"])).toMatchObject([
        { status: "live", answered_at: new Date(answeredAt).toISOString(), word: null },
        { status: "unknown", answered_at: new Date(answeredAt).toISOString() },
      ]);
      bench.record = async () => ({ ...completed, answeredAt: answeredAt + 5, human: true });
      const claim = (await rowOf(bench, call)).claims.at(-1) ?? "";
      const hint = { kind: "callback", account: "twilio", call: { id: call.id, claim } } as const;
      await bench.eventsQueue.send(hint);
      bench.receive = async () => taken;
      await deliverFor(bench, 40);
      expect(new Set(bench.posted.map(({ id }) => id)).size).toBe(3);
      for (const { id, body } of bench.posted) expect(body).toEqual(first.get(id) ?? body);
      const last = bench.posted.find(({ id }) => id === `${call.id}.3`);
      expect(last?.body.data["result"]).toMatchObject({
        status: "completed",
        human: true,
        answered_at: new Date(answeredAt + 5).toISOString(),
      });
    },
  );

  it("is that a call was answered, too, where the record of its end names no time of an answer", async () => {
    const bench = createEventsBench();
    const call = await place(bench);
    bench.record = async () => completed;
    await deliverFor(bench, 3);
    expect(typesOf(bench, call)).toEqual(["call.placed", "call.answered", "call.ended"]);
    expect(bench.posted[1]?.body.data["result"]).toMatchObject({ answered_at: null });
  });

  it("is of the state that an operator has decided, and of it alone", async () => {
    const bench = createEventsBench();
    const row = await putIn(bench, "NEEDS_REVIEW", aCallNow(bench), { route });
    const decided = applyAction(
      row,
      { action: { to: "PLACED" }, by: "ops" },
      { version: "o1", at: bench.now() },
    );
    if (decided === undefined) throw new Error("an operator may decide it");
    await write(bench, decided);
    await deliverNow(bench);
    expect(typesOf(bench, row)).toEqual(["call.reviewed"]);
    // The provider tells of two ends: a further step of its history, which leaves its state as it is.
    const step = { at: bench.now(), state: "PLACED", reason: "result_contradicted" } as const;
    const now = await rowOf(bench, row);
    await write(bench, { ...now, version: "c1", history: [...now.history, step] });
    await deliverNow(bench);
    expect(typesOf(bench, row)).toEqual(["call.reviewed"]);
  });

  it("is of the state in which a call ends after a review, if its provider has it after all", async () => {
    const bench = createEventsBench();
    const row = await putIn(bench, "NEEDS_REVIEW", aCallNow(bench), { route });
    const cancelled = applyAction(
      row,
      { action: { to: "CANCELLED" }, by: "ops" },
      {
        version: "o1",
        at: bench.now(),
      },
    );
    if (cancelled === undefined) throw new Error("an operator may decide it");
    await write(bench, cancelled);
    const found = { at: bench.now(), state: "PLACED", reason: "found" } as const;
    const history = [...cancelled.history, found];
    await write(bench, {
      ...(await rowOf(bench, row)),
      version: "p1",
      state: "PLACED",
      reason: "found",
      history,
    });
    await deliverNow(bench);
    expect(bench.posted.map(({ body: { type, data } }) => [type, data["state"]])).toEqual([
      ["call.reviewed", "CANCELLED"],
      ["call.placed", "PLACED"],
    ]);
  });

  it("has ids from 101 on after a restore, as events that were lost had lower ones", async () => {
    const bench = createEventsBench({ types: ["call.needs_review"] });
    const row = await putIn(bench, "UNKNOWN", aCallNow(bench), { route });
    const at = bench.now();
    const history = [...row.history, { at, state: "NEEDS_REVIEW", reason: "restored" } as const];
    const next = {
      ...row,
      version: "r1",
      state: "NEEDS_REVIEW",
      reason: "restored",
      history,
    } as const;
    await write(bench, next);
    await deliverNow(bench);
    expect(bench.posted.map(({ id }) => id)).toEqual([`${row.id}.101`]);
  });
});

describe("an attempt to deliver an event", () => {
  it("counts once where two deliveries make it at the same moment", async () => {
    const bench = createEventsBench({ types: ["call.placed"] });
    const call = await place(bench);
    let posts = 0;
    bench.receive = async () => {
      posts += 1;
      if (posts > 1) return failed;
      // While the first request is under way, another delivery tells the same event.
      const { events, version } = await rowOf(bench, call);
      const event = firstOf(events);
      const dueAt = bench.now() + 5_000;
      const tried = { ...(await rowOf(bench, call)), version: "other", deliverAt: dueAt };
      await bench.rows.write([
        { next: { ...tried, events: [{ ...event, tries: 1, dueAt }] }, seen: version },
      ]);
      return failed;
    };
    await deliverNow(bench);
    expect(await eventsOf(bench, call)).toMatchObject([{ tries: 1 }]);
    await bench.deliverEvents();
    bench.receive = async () => taken;
    await deliverFor(bench, 3);
    expect(await rowOf(bench, call)).toMatchObject({ deliverTo: null });
  });

  it("comes 5 s after the first one that failed, by a message of its own", async () => {
    const bench = createEventsBench({ types: ["call.placed"] });
    bench.receive = async () => (bench.posted.length < 2 ? failed : taken);
    await place(bench);
    await deliverNow(bench);
    expect(bench.posted).toHaveLength(1);
    bench.advance(4_000);
    await deliverNow(bench);
    expect(bench.posted).toHaveLength(1);
    bench.advance(1_500);
    await deliverNow(bench);
    expect(bench.posted).toHaveLength(2);
  });

  it.each([
    ["is made for a message that comes late the first time, as newer ones would", {}, 1],
    ["is not made for a message that was tried before the next sweep", { again: 1 }, 0],
  ])("%s", async (_title, more, posts) => {
    const bench = createEventsBench({ types: ["call.placed"] });
    const call = await place(bench);
    bench.eventsQueue.take();
    const of = { receiver: "*", calls: [call.id], requests: [], swept: false, ...more };
    await bench.eventsQueue.send({ kind: "deliver", ...of, sentAt: bench.now() });
    bench.advance(minuteMs + 1_000);
    await deliverNow(bench);
    expect(bench.posted).toHaveLength(posts);
    await deliverFor(bench, 1);
    expect(bench.posted).toHaveLength(1);
  });

  it("is made by a sweep if the message got lost, and not by the sweep of the same moment", async () => {
    const bench = createEventsBench({ types: ["call.placed"] });
    await place(bench);
    bench.eventsQueue.take();
    await bench.sweep();
    await deliverNow(bench);
    const early = bench.posted.length;
    bench.advance(40_000);
    await bench.sweep();
    bench.advance(20_000);
    await bench.sweep();
    await deliverNow(bench);
    expect([early, bench.posted.length]).toEqual([0, 1]);
  });

  it("is not made again where another writer changes the row meanwhile", async () => {
    const bench = createEventsBench({ types: ["call.placed"] });
    const call = await place(bench);
    let conflicts = 1;
    bench.breakLedger({
      write: async (changes) =>
        conflicts-- > 0 ? changes.map(() => false) : bench.rows.write(changes),
    });
    await deliverNow(bench);
    expect(await rowOf(bench, call)).toMatchObject({ deliverTo: null });
    expect(bench.posted).toHaveLength(1);
  });

  it("that no queue took changes nothing about the call", async () => {
    const bench = createEventsBench({ types: ["call.placed"] });
    bench.deps.eventsQueue = { ...bench.eventsQueue, sendMany: boom };
    const call = await place(bench);
    expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", deliverTo: "events:*" });
    expect(bench.eventsOf("events.not_sent")).toMatchObject([{ level: "warning", count: 1 }]);
  });
});

describe("a receiver", () => {
  /** Places calls, and has all of their events told by one message. */
  async function deliverAtOnce(bench: Bench, count: number): Promise<Call[]> {
    const calls = await placeSome(bench, count);
    bench.eventsQueue.take();
    await sendDeliver(bench, calls);
    return calls;
  }

  it(
    "that answers between failures is not left alone: only ten in a row are too many",
    inSlowTier,
    async () => {
      const bench = createEventsBench({ types: ["call.placed"] }, quick);
      bench.receive = async () => (bench.posted.length % 3 === 0 ? taken : failed);
      await deliverAtOnce(bench, 40);
      await bench.simulateEvents(4);
      expect(new Set(bench.posted.map(({ id }) => id)).size).toBe(40);
      expect(bench.eventsOf("breaker.opened")).toEqual([]);
    },
  );

  it("is left alone after ten failures in a row of one message", inSlowTier, async () => {
    const bench = createEventsBench({ types: ["call.placed"] }, quick);
    bench.receive = async () => (bench.posted.length <= 5 ? taken : failed);
    const calls = await deliverAtOnce(bench, 40);
    await bench.deliverEvents();
    expect(bench.posted).toHaveLength(15);
    expect(bench.eventsOf("breaker.opened")).toHaveLength(1);
    // Nothing but probes, which count for no try.
    await deliverFor(bench, 12);
    const probes = bench.posted.length - 15;
    expect(probes).toBeGreaterThanOrEqual(3);
    expect(probes).toBeLessThanOrEqual(4);
    const rows = await Promise.all(calls.map((call) => rowOf(bench, call)));
    const tries = rows.flatMap(({ events }) => events.map((event) => event.tries ?? 0));
    expect(tries.reduce((one, other) => one + other, 0)).toBe(10);
  });

  it(
    "whose probe is taken gets the rest of the message, and its failures count anew",
    inSlowTier,
    async () => {
      const bench = createEventsBench({ types: ["call.placed"] }, quick);
      bench.receive = async () => failed;
      const calls = await deliverAtOnce(bench, 30);
      await bench.deliverEvents();
      bench.advance(6 * minuteMs);
      const before = bench.posted.length;
      bench.receive = async () => (bench.posted.length === before + 1 ? taken : failed);
      await sendDeliver(bench, calls, true);
      await bench.deliverEvents();
      expect(bench.eventsOf("breaker.closed")).toHaveLength(1);
      expect(bench.posted.length).toBe(before + 11);
    },
  );

  it(
    "that answers late ends its turns but for sweeps, and makes no burst",
    inSlowTier,
    async () => {
      const bench = createEventsBench({ types: ["call.placed"], requestsPerSecond: 1 }, quick);
      bench.receive = async () => {
        if (bench.posted.length === 3) await bench.sleep(4_000);
        if (bench.posted.length === 10) await bench.sleep(14_000);
        return taken;
      };
      await deliverAtOnce(bench, 30);
      await bench.simulateEvents(30);
      expect(bench.posted).toHaveLength(10);
      const times = bench.posted.map(({ at }) => at);
      for (const [n, at] of times.slice(1).entries()) {
        expect(at - (times[n] ?? 0)).toBeGreaterThanOrEqual(1_000);
      }
    },
  );

  it("holds two thirds of a delivery's requests at most", inSlowTier, async () => {
    const bench = createEventsBench({ types: ["call.placed"] }, quick);
    bench.deps.concurrency = 9;
    let underWay = 0;
    let most = 0;
    bench.receive = async () => {
      most = Math.max(most, ++underWay);
      await bench.sleep(1_000);
      underWay -= 1;
      return taken;
    };
    await deliverAtOnce(bench, 30);
    await bench.simulateEvents(10);
    expect(most).toBe(6);
  });

  it("that could not be reached for days raises an alarm with each sweep", async () => {
    const bench = createEventsBench({ types: ["call.placed"] });
    await place(bench);
    bench.eventsQueue.take();
    bench.advance(83 * 3_600_000);
    await bench.sweep();
    expect(bench.eventsOf("events.late")).toEqual([]);
    bench.advance(2 * 3_600_000);
    await bench.sweep();
    expect(bench.eventsOf("events.late")).toMatchObject([{ level: "alarm", receiver: "*" }]);
  });
});
