import { describe, expect, it } from "vitest";
import type { Call } from "../../../shared/calls/call.ts";
import { callIdOf } from "../../../shared/calls/ids.ts";
import { messageCallsMax } from "../../../shared/queue/messages.ts";
import { aRequestId } from "../../support/calls.ts";
import { createDialerBench } from "../../support/dialer.ts";
import {
  type Bench,
  boom,
  iso,
  neverCall,
  numberOf,
  pause,
  request,
  rowsIn,
} from "../../support/dialer-calls.ts";

/** Returns the calls of one request, accepted now. */
function batch(
  bench: Bench,
  count: number,
  fields: Partial<Call["request"]> = {},
  acceptedAt = bench.now(),
): Call[] {
  const requestId = aRequestId(acceptedAt);
  return Array.from({ length: count }, (_, index) => ({
    id: callIdOf(requestId, index),
    requestId,
    batchCalls: count,
    client: "crm",
    acceptedAt,
    request: { phone_number: numberOf(index), agent_id: "agent_sales", ...fields },
  }));
}
const sorted = (ids: readonly string[]) => ids.toSorted();
const idsOf = (calls: readonly { id: string }[]) => sorted(calls.map(({ id }) => id));
const idsDialed = (bench: Bench) => idsOf(bench.dialed.map(({ call }) => call));

describe("a request", () => {
  it("of up to 25 calls is dialed as it comes", async () => {
    const bench = createDialerBench();
    const calls = batch(bench, messageCallsMax);
    await bench.send(request(calls));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(idsDialed(bench)).toEqual(idsOf(calls));
  });

  it("of more is split into messages of 25, and each call is dialed once though it is split twice", async () => {
    const bench = createDialerBench();
    const calls = batch(bench, 60);
    await bench.send(request(calls), request(calls));
    expect(await bench.deliver()).toEqual(["ack", "ack"]);
    expect(bench.dialed).toEqual([]);
    const sizes = bench.queued().map((one) => one.kind === "calls" && one.calls.length);
    expect(sizes).toEqual([25, 25, 10, 25, 25, 10]);
    await bench.deliver();
    expect(idsDialed(bench)).toEqual(idsOf(calls));
    const rows = await rowsIn(bench, "PLACED");
    expect(rows.map(({ batchCalls }) => batchCalls)).toEqual(calls.map(() => 60));
    expect(bench.eventsOf("request.split")).toMatchObject([{ count: 60 }, { count: 60 }]);
  });

  it("with large contexts is split into messages of at most 100 kB", async () => {
    const bench = createDialerBench();
    const calls = batch(bench, 60, { context: { text: "ü".repeat(15_000) } });
    await bench.send(request(calls));
    await bench.deliver();
    for (const one of bench.queued()) {
      expect(Buffer.byteLength(JSON.stringify(one))).toBeLessThanOrEqual(101_000);
    }
    await bench.deliver();
    expect(idsDialed(bench)).toEqual(idsOf(calls));
  });

  it("that is throttled half-way is split again, under the same ids", async () => {
    const bench = createDialerBench();
    const { queue } = bench.deps;
    let left = 1;
    bench.deps.queue = { ...queue, sendMany: (all) => queue.sendMany(all.slice(0, left++)) };
    const calls = batch(bench, 60);
    await bench.send(request(calls));
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 5 }]);
    await bench.run(600);
    expect(idsDialed(bench)).toEqual(idsOf(calls));
  });

  it("of which nothing could be split is handed back whole", async () => {
    const bench = createDialerBench();
    bench.deps.queue = { ...bench.deps.queue, sendMany: boom };
    await bench.send(request(batch(bench, 26)));
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 5 }]);
  });

  it("too large for one delivery beside others comes again soon, unopened", async () => {
    const bench = createDialerBench();
    const large = { context: { text: "x".repeat(150) } };
    const messages = [batch(bench, 10_000, large), batch(bench, 10_000, large)].map(request);
    await bench.send(...messages, request(batch(bench, 10_000, large)), request(batch(bench, 1)));
    const soon = { retryAfterSeconds: 1 };
    expect(await bench.deliver()).toEqual(["ack", "ack", soon, "ack"]);
  });

  it("accepted longer ago than the retention less a day writes nothing, with an alarm", async () => {
    const bench = createDialerBench({ plan: { retentionDays: 40 }, startAt: "2026-06-01T10:00Z" });
    const calls = batch(bench, 30, {}, bench.now() - 39 * 86_400_000 - 1);
    await bench.send(request(calls));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.stored.size).toBe(0);
    expect(bench.queued()).toEqual([]);
    expect(bench.eventsOf("call.too_old")).toMatchObject([
      { level: "alarm", request_id: calls[0]?.requestId, count: 30 },
    ]);
  });
});

describe("the calls of a split request", () => {
  const nine = { default: { "mon-sun": ["09:00-17:00"] } };

  it("that must wait for their hours are written at once, and cost no message", async () => {
    const bench = createDialerBench({ plan: { callingHours: nine }, startAt: "2026-06-01T08:00Z" });
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
  });

  it("are written at most 500 a second", async () => {
    const bench = createDialerBench({ plan: { callingHours: nine }, startAt: "2026-06-01T08:00Z" });
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

  it("that may go now travel on, beside those that must wait or have ended", async () => {
    const bench = createDialerBench({ plan: { callingHours: nine }, startAt: "2026-06-01T08:00Z" });
    const calls = batch(bench, 90, { timezone: "UTC" }).map((call, index) => {
      const fields = [
        {},
        { timezone: "Europe/Berlin" },
        { phone_number: `+1876555${1000 + index}` },
      ];
      return { ...call, request: { ...call.request, ...fields[index % 3] } };
    });
    await bench.send(request(calls));
    await bench.deliver();
    expect((await rowsIn(bench, "WAITING")).length).toBe(30);
    expect((await rowsIn(bench, "REJECTED")).map(({ reason }) => reason)).toEqual(
      Array.from({ length: 30 }, () => "destination_denied"),
    );
    await bench.deliver();
    expect(idsDialed(bench)).toEqual(idsOf(calls.filter((_, index) => index % 3 === 1)));
  });

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

  it("to an account with a pace are all written before the first hint, which is for the first places", async () => {
    const providers = { webhook: { callsPerSecond: 1 } };
    const bench = createDialerBench({ plan: { providers } });
    const { queue } = bench.deps;
    const written: number[] = [];
    bench.deps.queue = {
      ...queue,
      async sendMany(messages) {
        written.push((await rowsIn(bench, "WAITING")).length);
        return queue.sendMany(messages);
      },
    };
    const calls = batch(bench, 400);
    await bench.send(request(calls));
    await bench.deliver();
    expect(written[0]).toBe(400);
    const hinted = bench.queued().flatMap((one) => (one.kind === "due" ? one.ids : []));
    expect(hinted).toEqual(calls.slice(0, hinted.length).map(({ id }) => id));
    expect(hinted.length).toBeGreaterThanOrEqual(75);
    expect(hinted.length).toBeLessThanOrEqual(77);
    expect(bench.queued().some(({ kind }) => kind === "calls")).toBe(false);
  });

  it("to numbers that are never to be called are stopped where they are dialed, not asked for one by one", async () => {
    const bench = createDialerBench();
    const calls = batch(bench, 30);
    await neverCall(bench, numberOf(7));
    await bench.send(request(calls));
    await bench.deliver();
    await bench.deliver();
    expect(bench.dialed).toHaveLength(29);
    expect(await rowsIn(bench, "REJECTED")).toMatchObject([
      { id: calls[7]?.id, reason: "do_not_call" },
    ]);
  });
});
