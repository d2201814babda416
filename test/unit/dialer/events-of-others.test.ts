import { listDocuments } from "#test/support/reads.ts";
import { describe, expect, it } from "vitest";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { aCallNow, rowOf, sendEach } from "#test/support/dialer-calls.ts";
import {
  createEventsBench,
  failed,
  deliverFor,
  deliverNow,
  taken,
  toldTo,
} from "#test/support/events-bench.ts";
import { completed, minuteMs, place, twilio } from "#test/support/results-bench.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const own = { crm: { url: "http://127.0.0.1:9/crm" } };
const planWithClientReceiver = { ...twilio, results: {}, ...toldTo({}, own) };

describe("a client that gets a receiver of its own", () => {
  it("gets events only there, though a message to the former receiver is under way", async () => {
    const bench = createEventsBench({ types: ["call.ended"] });
    const call = firstOf(await place(bench, 1));
    bench.changePlan(planWithClientReceiver);
    bench.record = async () => completed;
    bench.advance(10 * minuteMs);
    await bench.sweep();
    const tell = () =>
      bench.eventsQueue.send({
        kind: "deliver",
        receiver: "*",
        calls: [call.id],
        requests: [],
        sentAt: bench.now(),
        swept: false,
      });
    await tell();
    await bench.deliverEvents();
    await tell();
    await deliverNow(bench);
    expect(new Set(bench.posted.map(({ receiver }) => receiver))).toEqual(new Set(["crm"]));
  });

  it("gets pending events there too", inSlowTier, async () => {
    const bench = createEventsBench({ types: ["call.placed", "request.finished"] });
    bench.receive = async () => failed;
    bench.record = async () => completed;
    const call = firstOf(await place(bench, 1));
    await deliverFor(bench, 4);
    bench.changePlan(planWithClientReceiver);
    const before = bench.posted.length;
    bench.receive = async () => ({ status: 204, text: "" });
    await deliverFor(bench, 60);
    const later = bench.posted.slice(before);
    expect(new Set(later.map(({ receiver }) => receiver))).toEqual(new Set(["crm"]));
    expect(later.map(({ id }) => id)).toEqual(
      expect.arrayContaining([`${call.id}.1`, `${call.requestId}.finished`]),
    );
    expect(await rowOf(bench, call)).toMatchObject({ deliverTo: null });
  });

  it("leaves the former receiver to the others, though that was down", async () => {
    const bench = createEventsBench({ types: ["call.placed"] });
    bench.receive = async () => failed;
    await place(bench, 40);
    const other = aCallNow(bench, {}, { client: "shop" });
    await sendEach(bench, other);
    await bench.simulate(5);
    await deliverFor(bench, 4);
    expect(bench.eventsOf("breaker.opened")).toMatchObject([{ level: "alarm" }]);
    bench.changePlan(planWithClientReceiver);
    const before = bench.posted.length;
    bench.receive = async () => taken;
    // Probes come a quarter of an hour apart at most.
    await deliverFor(bench, 17);
    const later = bench.posted.slice(before);
    expect(later.filter(({ receiver }) => receiver === "*")).toMatchObject([
      { id: `${other.id}.1` },
    ]);
    expect(later.filter(({ receiver }) => receiver === "crm")).toHaveLength(40);
  });
});

describe("finished requests", () => {
  const finished = { types: ["request.finished"] };
  const rejectAll = (bench: ReturnType<typeof createEventsBench>) => {
    bench.answer = async () => ({ kind: "rejected", code: "no", blamesNumber: true });
  };

  it("are reported however old, and however many others are under way", inSlowTier, async () => {
    for (const offset of [0, 1, 2, 3, 4]) {
      const bench = createEventsBench(finished);
      rejectAll(bench);
      await place(bench, 1);
      const one = firstOf(await listDocuments(bench.documents, "request", { limit: 1 }));
      const others = Array.from(
        { length: 8_500 },
        (_, n): { next: StoredDocument<"request">; seen: null } => ({
          next: {
            ...one,
            key: `0${String(n).padStart(25, "0")}`,
            version: `d${n}`,
            expiresAt: 1e15,
          },
          seen: null,
        }),
      );
      await bench.documents.write(others);
      bench.advance((61 + offset) * minuteMs);
      for (let minute = 0; minute < 12 && bench.posted.length === 0; minute++) {
        await deliverFor(bench, 1);
      }
      expect(bench.posted).toHaveLength(1);
    }
  });

  it("do not stand for ever where nobody takes them", async () => {
    const bench = createEventsBench(finished);
    rejectAll(bench);
    bench.receive = async () => failed;
    await place(bench, 1);
    await deliverFor(bench, 3);
    expect(await listDocuments(bench.documents, "request", { limit: 9 })).toHaveLength(1);
    bench.advance(160 * 24 * 60 * minuteMs);
    expect(await listDocuments(bench.documents, "request", { limit: 9 })).toEqual([]);
  });

  it(
    "of a receiver behind an open breaker send one message for its probe, and no more",
    inSlowTier,
    async () => {
      const bench = createEventsBench(finished, { providers: { twilio: { callsPerSecond: 100 } } });
      rejectAll(bench);
      bench.receive = async () => failed;
      bench.deps.concurrency = 25;
      await place(bench, 25);
      await deliverFor(bench, 60);
      expect(bench.eventsOf("breaker.opened")).toHaveLength(1);
      const before = bench.posted.length;
      await deliverFor(bench, 60);
      expect(bench.posted.length - before).toBeLessThan(12);
      bench.advance(minuteMs);
      await bench.sweep();
      expect(bench.eventsQueue.take().length).toBeLessThanOrEqual(1);
    },
  );

  it("are reported though listing backlogs takes all of a sweep's time", async () => {
    const bench = createEventsBench(finished);
    rejectAll(bench);
    await place(bench, 1);
    let tookAt = -Infinity;
    bench.breakDocuments({
      async list(kind, query) {
        if (kind === "backlog" && bench.now() > tookAt + 30_000) {
          bench.advance(46_000);
          tookAt = bench.now();
        }
        return listDocuments(bench.documents, kind, query);
      },
    });
    await deliverFor(bench, 5);
    expect(bench.posted).toHaveLength(1);
  });
});

it("every receiver of the plan has its turn, though a sweep has time for only some of them", async () => {
  const clients = Array.from({ length: 8 }, (_, n) => `client-${n}`);
  const events = Object.fromEntries(clients.map((name) => [name, { url: "http://127.0.0.1:9/" }]));
  const bench = createEventsBench({}, { events });
  for (const client of clients) await sendEach(bench, aCallNow(bench, {}, { client }));
  await bench.simulate(20, { firstSweepSeconds: 1000 });
  bench.eventsQueue.take();
  bench.advance(minuteMs);
  bench.breakLedger({
    due(query) {
      if (query.of === "events" && query.lanes.length === 1) bench.advance(4_000);
      return bench.rows.due(query);
    },
  });
  const swept = new Set<unknown>();
  for (let sweeps = 0; sweeps < 4; sweeps++) {
    await bench.sweep();
    const sent = await Promise.all(bench.eventsQueue.take().map((one) => one.open()));
    for (const { receiver } of sent.map((json) => JSON.parse(json))) swept.add(receiver);
    bench.advance(minuteMs);
  }
  expect([...swept]).toEqual(expect.arrayContaining(clients));
});

it(
  "an alarm names a receiver that has been away for days, however it is probed",
  inSlowTier,
  async () => {
    const bench = createEventsBench({ types: ["call.placed"] });
    bench.receive = async () => failed;
    await place(bench, 12);
    await deliverFor(bench, 5 * 24 * 60);
    expect(bench.eventsOf("events.late")[0]).toMatchObject({ level: "alarm", receiver: "*" });
  },
);
