import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { receiverKeyOf } from "#functions/dialer/events/receiver-lease.ts";
import { parseRow, toStoredRow } from "#shared/ports/stored-row.ts";
import {
  createEventsBench,
  failed,
  taken,
  deliverFor,
  deliverNow,
  toldTo,
  typesOf,
} from "#test/support/events-bench.ts";
import {
  aCallNow,
  callsNow,
  putDocument,
  putIn,
  rowOf,
  sendEach,
} from "#test/support/dialer-calls.ts";
import {
  busy,
  completed,
  createBench,
  live,
  minuteMs,
  place,
} from "#test/support/results-bench.ts";
import { removeCurrent } from "#test/support/documents.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

const hourMs = 3_600_000;

describe("events of a call", () => {
  it("report that it was placed and its result, without its number", async () => {
    const vapi = { provider: "vapi", agent: "a-1", from: "p-1" };
    const agents = { agents: { agent_sales: vapi } };
    const bench = createEventsBench({ echo: ["lead_id", "absent"] }, agents);
    const call = aCallNow(bench, { context: { lead_id: "L-7", first_name: "Ada" } });
    await sendEach(bench, call);
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    await deliverNow(bench);
    bench.record = async () => busy;
    await deliverFor(bench, 3);
    const [placed, ended, finished, ...more] = bench.posted;
    expect(more).toEqual([]);
    expect(finished?.body.type).toBe("request.finished");
    expect(placed).toMatchObject({
      receiver: "*",
      id: `${call.id}.1`,
      body: {
        type: "call.placed",
        timestamp: new Date((await rowOf(bench, call)).history.at(-1)?.at ?? 0).toISOString(),
        data: {
          id: call.id,
          request_id: call.requestId,
          index: 0,
          sequence: 1,
          agent_id: "agent_sales",
          state: "PLACED",
          reason: "placed",
          attempt: 1,
          result: null,
          echo: { lead_id: "L-7" },
        },
      },
    });
    expect(ended).toMatchObject({
      id: `${call.id}.2`,
      body: {
        type: "call.ended",
        data: { sequence: 2, state: "PLACED", result: { status: "busy", word: "busy" } },
      },
    });
    expect(JSON.stringify(bench.posted)).not.toMatch(/\+1202555|Ada/);
    expect(JSON.stringify(bench.events)).not.toMatch(/\+1202555|Ada|L-7/);
    expect(await rowOf(bench, call)).toMatchObject({ deliverTo: null, deliverAt: null });
  });

  it("report once that it was answered, while it is live or with its end", async () => {
    const bench = createEventsBench();
    const [one, other] = await place(bench, 2);
    if (one === undefined || other === undefined) throw new Error("they were placed");
    const answeredAt = bench.now();
    bench.record = async ({ id }) => ({ ...(id === one.id ? live : completed), answeredAt });
    await deliverFor(bench, 3);
    expect(typesOf(bench, one)).toEqual(["call.placed", "call.answered"]);
    expect(typesOf(bench, other)).toEqual(["call.placed", "call.answered", "call.ended"]);
    const answered = bench.posted.find(({ body }) => body.type === "call.answered");
    expect(answered?.body.data).toMatchObject({
      result: { status: "live", answered_at: new Date(answeredAt).toISOString(), seconds: null },
    });
    bench.record = async () => ({ ...completed, answeredAt });
    await deliverFor(bench, 5);
    expect(typesOf(bench, one)).toEqual(["call.placed", "call.answered", "call.ended"]);
  });

  it("report a second end if the first was unknown", async () => {
    const bench = createBench({ waitMinutes: 5 }, toldTo({ types: ["call.ended"] }));
    const call = firstOf(await place(bench, 1));
    await deliverFor(bench, 7);
    expect(bench.posted.map(({ body }) => body.data["result"])).toMatchObject([
      { status: "unknown" },
    ]);
    const row = await rowOf(bench, call);
    bench.record = async () => completed;
    const message = { kind: "callback", account: "twilio" } as const;
    const claim = row.claims.at(-1) ?? "";
    await bench.eventsQueue.send({ ...message, call: { id: call.id, claim } });
    await deliverNow(bench);
    expect(bench.posted.map(({ id, body }) => [id, body.data["result"]])).toMatchObject([
      [`${call.id}.1`, { status: "unknown" }],
      [`${call.id}.2`, { status: "completed" }],
    ]);
  });

  it.each([
    ["REJECTED", "call.rejected"],
    ["EXPIRED", "call.expired"],
    ["CANCELLED", "call.cancelled"],
    ["NEEDS_REVIEW", "call.needs_review"],
  ] as const)("report that it is %s", async (state, type) => {
    const bench = createEventsBench();
    bench.answer = async () =>
      state === "REJECTED"
        ? { kind: "rejected", code: "no_such_number" }
        : { kind: "forbidden", code: "http_403" };
    const call = aCallNow(bench);
    if (state === "CANCELLED") {
      const order = { client: null, at: bench.now(), by: "ops", indexes: null };
      await bench.documents.write([
        {
          next: {
            kind: "cancellation",
            key: JSON.stringify(["request", call.requestId]),
            version: "c1",
            value: { of: { request: call.requestId }, orders: [order] },
            expiresAt: null,
          },
          seen: null,
        },
      ]);
    }
    if (state === "EXPIRED") bench.advance(200 * hourMs);
    await sendEach(bench, call);
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    await deliverNow(bench);
    expect(bench.posted.map(({ body }) => [body.type, body.data["state"]])).toEqual([
      [type, state],
    ]);
    expect(bench.posted[0]?.body.data["reason"]).toMatch(
      { REJECTED: /no_such/, EXPIRED: /expired/, CANCELLED: /operator/, NEEDS_REVIEW: /403/ }[
        state
      ],
    );
  });

  it("are none unless the plan names the client, and only of the types that it names", async () => {
    const own = { url: "http://127.0.0.1:9/own", types: ["call.ended"] };
    const bench = createBench({}, { events: { crm: own } });
    const calls = [
      aCallNow(bench),
      aCallNow(bench, { phone_number: "+13035550101" }, { client: "shop" }),
    ];
    await sendEach(bench, ...calls);
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    bench.record = async () => completed;
    await deliverFor(bench, 3);
    expect(bench.posted.map(({ receiver, body }) => [receiver, body.type])).toEqual([
      ["crm", "call.ended"],
    ]);
  });

  it("leave the row as it is if nobody receives them", async () => {
    const bench = createBench();
    const call = firstOf(await place(bench, 1));
    const stored = toStoredRow(await rowOf(bench, call));
    for (const name of ["events", "deliverTo", "deliverAt", "echo", "optedOut"]) {
      expect(stored).not.toHaveProperty(name);
    }
  });

  it("stay readable in a row that a later version has written", async () => {
    const bench = createEventsBench();
    const row = await putIn(bench, "PLACED", aCallNow(bench));
    const event = {
      type: "call.later",
      sequence: 1,
      at: 1,
      state: "LATER",
      reason: "x",
      attempt: 1,
    };
    const parsed = parseRow(row.id, "v", { ...toStoredRow(row), events: [{ ...event, more: 1 }] });
    expect(parsed?.events).toEqual([{ ...event, more: 1 }]);
  });
});

describe("delivering an event", () => {
  it("waits no longer for the receiver's next request than its pace demands, whoever wrote its time", async () => {
    const bench = createEventsBench();
    await sendEach(bench, aCallNow(bench));
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    const nextAt = bench.now() + hourMs; // by a clock that was an hour ahead
    await putDocument(bench, receiverKeyOf("*"), { leaseUntil: 0, nextAt, isSlow: false });
    await deliverFor(bench, 2);
    expect(bench.posted.map(({ body }) => body.type)).toContain("call.placed");
  });

  it(
    "is tried ten times over three days under one id, then left to the operator",
    inSlowTier,
    async () => {
      const bench = createEventsBench({ types: ["call.placed"] });
      const call = firstOf(await place(bench, 1));
      const placedAt = (await rowOf(bench, call)).events[0]?.at ?? 0;
      // An answer to another event in between keeps the breaker closed.
      bench.receive = async () => failed;
      for (let minute = 0; minute < 80 * 60; minute++) {
        await removeCurrent(bench.documents, { kind: "counters", key: "receiver:*" });
        await bench.deliverEvents();
        bench.advance(5_000);
        await bench.deliverEvents();
        bench.advance(55_000);
        if (minute % 5 === 0) await bench.sweep();
      }
      expect(new Set(bench.posted.map(({ id }) => id))).toEqual(new Set([`${call.id}.1`]));
      const tries = bench.posted.map(({ at }) => Math.round((at - placedAt) / minuteMs));
      expect(tries).toHaveLength(10);
      const waits = tries.slice(1).map((at, n) => at - (tries[n] ?? 0));
      const asked = [0, 5, 30, 120, 300, 600, 840, 1200, 1440];
      for (const [n, wait] of waits.entries()) {
        expect(wait).toBeGreaterThanOrEqual((asked[n] ?? 0) - 1);
        expect(wait).toBeLessThanOrEqual((asked[n] ?? 0) + 7);
      }
      expect(await rowOf(bench, call)).toMatchObject({ deliverTo: "exhausted:*" });
      expect(bench.eventsOf("events.exhausted")).toMatchObject([{ receiver: "*", count: 1 }]);
    },
  );

  it("is tried at once by a process whose clock is behind", async () => {
    const bench = createEventsBench({ types: ["call.placed"] });
    await place(bench, 1);
    bench.advance(-3_000);
    await bench.deliverEvents();
    expect(bench.posted).toHaveLength(1);
  });

  it("waits as long as the receiver asks", async () => {
    const bench = createEventsBench({ types: ["call.placed"] });
    bench.receive = async () => ({ status: 429, retryAfterMs: 20 * minuteMs, text: "" });
    await place(bench, 1);
    await deliverNow(bench);
    const [first] = bench.posted;
    await deliverFor(bench, 25);
    expect(bench.posted).toHaveLength(2);
    expect((bench.posted[1]?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(20 * minuteMs);
  });

  it(
    "stops at ten failures in a row, probes, and loses none when the receiver is back after days",
    inSlowTier,
    async () => {
      const bench = createEventsBench(
        { types: ["call.placed"] },
        { providers: { twilio: { callsPerSecond: 100 } } },
      );
      bench.receive = async () => failed;
      const calls = await place(bench, 40);
      await deliverFor(bench, 10);
      expect(bench.eventsOf("breaker.opened")).toMatchObject([
        { breaker: "receiver:*", code: "http_503" },
      ]);
      const before = bench.posted.length;
      expect(before).toBeLessThan(60);
      await deliverFor(bench, 72 * 60);
      // A probe every quarter of an hour, and not one try of another event.
      expect(bench.posted.length - before).toBeLessThan(72 * 4 + 10);
      bench.receive = async () => taken;
      await deliverFor(bench, 40);
      expect(bench.eventsOf("breaker.closed")).toHaveLength(1);
      const told = new Set(bench.posted.slice(before).map(({ id }) => id));
      for (const { id } of calls) expect(told).toContain(`${id}.1`);
      expect(bench.eventsOf("events.exhausted")).toEqual([]);
    },
  );

  it("stops at once for a receiver that is gone", async () => {
    const bench = createEventsBench({ types: ["call.placed"] });
    bench.receive = async () => ({ status: 410, text: "" });
    await place(bench, 3);
    await deliverFor(bench, 3);
    expect(bench.eventsOf("breaker.opened")).toMatchObject([{ code: "http_410" }]);
  });

  it("keeps to the receiver's pace", inSlowTier, async () => {
    const bench = createEventsBench(
      { types: ["call.placed"], requestsPerSecond: 2 },
      { providers: { twilio: { callsPerSecond: 100 } } },
    );
    await place(bench, 30);
    await bench.simulateEvents(20);
    const times = bench.posted.map(({ at }) => at);
    expect(times.length).toBeGreaterThan(10);
    for (const [n, at] of times.entries()) {
      const earlier = times[n - 2];
      if (earlier !== undefined) expect(at - earlier).toBeGreaterThanOrEqual(1000);
    }
  });

  it("to a slow receiver delays no other", inSlowTier, async () => {
    const slow = { url: "http://127.0.0.1:9/slow", types: ["call.placed"] };
    const quick = { ...slow, url: "http://127.0.0.1:9/quick" };
    const bench = createBench(
      {},
      {
        events: { crm: slow, shop: quick },
        providers: { twilio: { callsPerSecond: 100 } },
      },
    );
    bench.receive = async (receiver) => {
      if (receiver === "crm") await bench.sleep(14_000);
      return taken;
    };
    const slows = callsNow(bench, 60);
    const quicks = callsNow(bench, 10, { phone_number: "+13035559999" }, { client: "shop" });
    await sendEach(bench, ...slows, ...quicks);
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    const begunAt = bench.now();
    await bench.deliverEvents();
    const quickAt = bench.posted.filter(({ receiver }) => receiver === "shop").map(({ at }) => at);
    expect(quickAt).toHaveLength(10);
    expect(Math.max(...quickAt) - begunAt).toBeLessThan(2_000);
    // The delivery itself ends after one answer of the slow one, and later messages for it are left to sweeps.
    expect(bench.now() - begunAt).toBeLessThan(20_000);
    const posted = bench.posted.length;
    await sendEach(bench, aCallNow(bench, { phone_number: "+13035551234" }));
    await bench.simulate(2, { firstSweepSeconds: 1000 });
    await bench.deliverEvents();
    expect(bench.posted).toHaveLength(posted);
    await deliverFor(bench, 60);
    expect(new Set(bench.posted.map(({ id }) => id)).size).toBe(71);
  });

  it(
    "continues though every other write of the ledger or the queue fails",
    inSlowTier,
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer(), async (seed) => {
          let state = seed;
          const isBroken = () => {
            state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
            return (state & 1) === 1;
          };
          const bench = createEventsBench({ types: ["call.placed"] });
          const calls = await place(bench, 3);
          const fail = async (): Promise<never> => Promise.reject(new Error("it is down"));
          bench.breakLedger({
            write: (changes) => (isBroken() ? fail() : bench.rows.write(changes)),
            read: (ids) => (isBroken() ? fail() : bench.rows.read(ids)),
          });
          bench.receive = async () => (isBroken() ? failed : taken);
          await deliverFor(bench, 60);
          bench.repairLedger();
          bench.receive = async () => taken;
          await deliverFor(bench, 180);
          for (const { id } of calls) {
            expect(bench.posted.some((one) => one.id === `${id}.1`)).toBe(true);
            expect(await rowOf(bench, { id })).toMatchObject({ deliverTo: null });
          }
          expect(new Set(bench.posted.map(({ id }) => id)).size).toBe(3);
        }),
        { numRuns: perTier({ quick: 2, long: 10 }) },
      );
    },
  );
});
