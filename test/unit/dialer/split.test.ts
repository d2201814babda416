import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { takeSplitLane } from "#functions/dialer/consume/split-lanes.ts";
import { messageCallsMax } from "#shared/ports/call-messages.ts";
import { aRequestId } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  type Bench,
  boom,
  iso,
  neverCall,
  inUtc,
  pause,
  request,
  rowsIn,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Returns the calls of one request, accepted now. */
function batch(
  bench: Bench,
  count: number,
  fields: Partial<Call["request"]> = {},
  acceptedAt = bench.now(),
): Call[] {
  const requestId = aRequestId(acceptedAt);
  return Array.from({ length: count }, (_, index) => ({
    id: toCallId(requestId, index),
    requestId,
    batchCalls: count,
    client: "crm",
    mode: "live" as const,
    acceptedAt,
    request: { phone_number: inUtc(index).phone_number, agent_id: "agent_sales", ...fields },
  }));
}
const sorted = (ids: readonly string[]) => ids.toSorted();
const idsOf = (calls: readonly { id: string }[]) => sorted(calls.map(({ id }) => id));
const idsDialed = (bench: Bench) => idsOf(bench.dialed.map(({ call }) => call));

describe("a request", () => {
  it("of as many calls as may go at once is dialed as it comes", async () => {
    const bench = createDialerBench({ concurrency: messageCallsMax });
    const calls = batch(bench, messageCallsMax);
    await bench.send(request(calls));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(idsDialed(bench)).toEqual(idsOf(calls));
  });

  it(
    "of more than 25 becomes rows, and each call is dialed once though it is split twice",
    inSlowTier,
    async () => {
      const bench = createDialerBench();
      const calls = batch(bench, 60);
      await bench.send(request(calls), request(calls));
      expect(await bench.deliver()).toEqual(["ack", "ack"]);
      expect(bench.dialed).toEqual([]);
      expect(bench.queued()).toEqual([]);
      await bench.simulate(30);
      expect(idsDialed(bench)).toEqual(idsOf(calls));
      const rows = await rowsIn(bench, "PLACED");
      expect(rows.map(({ batchCalls }) => batchCalls)).toEqual(calls.map(() => 60));
      // The second message finds the rows of the last calls, and writes nothing.
      expect(bench.eventsOf("request.split")).toMatchObject([{ count: 60 }]);
    },
  );

  it("that is throttled half-way is split again, under the same ids", inSlowTier, async () => {
    const bench = createDialerBench();
    let writes = 0;
    bench.breakLedger({
      write: (changes) => (++writes === 2 ? boom() : bench.rows.write(changes)),
    });
    const calls = batch(bench, 1200);
    await bench.send(request(calls));
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 5 }]);
    await bench.simulate(120);
    expect(idsDialed(bench)).toEqual(idsOf(calls));
  });
});

describe("large requests, where the ledger takes 500 rows a second", () => {
  const slow = (consumers = 20) => {
    const bench = createDialerBench({ consumers });
    bench.deps.rowsPerSecond = 500;
    return bench;
  };

  it("are not written again by a repeat under their key, which would hold a delivery as long", async () => {
    const bench = slow();
    const calls = batch(bench, 1_500);
    await bench.send(request(calls));
    expect(await bench.deliver()).toEqual(["ack"]);
    const from = bench.now();
    expect(from - (calls[0]?.acceptedAt ?? 0)).toBeGreaterThanOrEqual(2_000);
    bench.breakLedger({ write: () => expect.unreachable("a row was written again") });
    await bench.send(request(calls));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.now()).toBe(from);
  });

  it("of one client are split in five deliveries at once, and others' in those beside them", async () => {
    const bench = slow();
    const take = (client: string) => takeSplitLane(client, bench.deps);
    const taken = await Promise.all(Array.from({ length: 9 }, () => take("crm")));
    const held = [...taken, ...(await Promise.all([take("crm"), take("crm"), take("crm")]))];
    expect(held.filter((one) => one !== undefined)).toHaveLength(5);
    await bench.send(request(batch(bench, 501)), request(batch(bench, 500)));
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 5 }, "ack"]);
    await using other = await take("shop");
    expect(other).toBeDefined();
    await held.find((one) => one !== undefined)?.[Symbol.asyncDispose]();
    await bench.simulate(20);
    expect(bench.eventsOf("request.split").map(({ count }) => count)).toEqual([500, 501]);
  });

  it.each([
    [2, 1],
    [6, 2],
    [12, 3],
    [1_000, 5],
  ])("of one client leave deliveries to others, where %i run at once", async (consumers, most) => {
    const bench = slow(consumers);
    const taken = [];
    for (let n = 0; n < 12; n++) taken.push(await takeSplitLane("crm", bench.deps));
    expect(taken.filter((one) => one !== undefined)).toHaveLength(most);
  });

  it("get the lane of a process that has died two minutes later", async () => {
    const bench = slow();
    for (let n = 0; n < 12; n++) await takeSplitLane("crm", bench.deps);
    expect(await takeSplitLane("crm", bench.deps)).toBeUndefined();
    bench.advance(120_000);
    expect(await takeSplitLane("crm", bench.deps)).toBeDefined();
  });
});

describe("the calls of a split request", () => {
  const nine = { default: { "mon-sun": ["09:00-17:00"] } };

  it(
    "that must wait for their hours are written at once, and cost no message",
    inSlowTier,
    async () => {
      const bench = createDialerBench({
        plan: { callingHours: nine },
        startAt: "2026-06-01T08:00Z",
      });
      const calls = batch(bench, 1200, { timezone: "UTC" });
      await bench.send(request(calls));
      const sent = bench.sent();
      expect(await bench.deliver()).toEqual(["ack"]);
      expect(bench.sent()).toBe(sent);
      const rows = await rowsIn(bench, "WAITING");
      expect(rows).toHaveLength(1200);
      expect(new Set(rows.map(({ reason, dueAt }) => `${reason} ${iso(dueAt)}`))).toEqual(
        new Set(["hours:callingHours.default 2026-06-01T09:00:02"]),
      );
      await bench.simulate(3900);
      expect(idsDialed(bench)).toEqual(idsOf(calls));
    },
  );

  it("are written at the speed that the ledger takes", inSlowTier, async () => {
    const bench = createDialerBench({ plan: { callingHours: nine }, startAt: "2026-06-01T08:00Z" });
    bench.deps.rowsPerSecond = 500;
    const writes: { at: number; size: number }[] = [];
    bench.breakLedger({
      write(changes) {
        writes.push({ at: bench.now(), size: changes.length });
        return bench.rows.write(changes);
      },
    });
    await bench.send(request(batch(bench, 1200, { timezone: "UTC" })));
    await bench.deliver();
    expect(writes.map(({ size }) => size)).toEqual([500, 500, 200]);
    const [first = 0, second = 0, third = 0] = writes.map(({ at }) => at);
    expect(second - first).toBeGreaterThanOrEqual(1000);
    expect(third - second).toBeGreaterThanOrEqual(1000);
  });

  it(
    "that may go now wait for their turn, beside those that must wait or have ended",
    inSlowTier,
    async () => {
      const bench = createDialerBench({
        plan: { callingHours: nine },
        startAt: "2026-06-01T08:01Z",
      });
      const calls = batch(bench, 90, { timezone: "UTC" }).map((call, index) => {
        const london = { phone_number: `+4420718${30000 + index}`, timezone: "Europe/London" };
        const fields = [{}, london, { phone_number: `+1876555${1000 + index}` }];
        return { ...call, request: { ...call.request, ...fields[index % 3] } };
      });
      await bench.send(request(calls));
      await bench.deliver();
      expect((await rowsIn(bench, "WAITING")).length).toBe(60);
      expect((await rowsIn(bench, "REJECTED")).map(({ reason }) => reason)).toEqual(
        Array.from({ length: 30 }, () => "destination_denied"),
      );
      await bench.simulate(30);
      expect(idsDialed(bench)).toEqual(idsOf(calls.filter((_, index) => index % 3 === 1)));
    },
  );

  it("to a paused agent are written at once, and dialed when it is resumed", async () => {
    const bench = createDialerBench();
    await pause(bench, { agent: "agent_sales" });
    const calls = batch(bench, 60);
    await bench.send(request(calls));
    const sent = bench.sent();
    await bench.deliver();
    expect(bench.sent()).toBe(sent);
    const rows = await rowsIn(bench, "WAITING");
    expect(rows.map(({ reason }) => reason)).toEqual(calls.map(() => "paused"));
  });

  it("to numbers that are never to be called are stopped where they are dialed, not asked for one by one", async () => {
    const bench = createDialerBench();
    const calls = batch(bench, 30);
    await neverCall(bench, inUtc(7).phone_number);
    await bench.send(request(calls));
    await bench.simulate(30);
    expect(bench.dialed).toHaveLength(29);
    expect(await rowsIn(bench, "REJECTED")).toMatchObject([
      { id: calls[7]?.id, reason: "do_not_call" },
    ]);
  });
});
