import { describe, expect, it } from "vitest";
import { acceptSpanIdOf } from "#shared/traces/trace-context.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { aRequestId } from "#test/support/calls.ts";
import { attributeOf, readMetrics, readSpans } from "#test/support/collector.ts";
import { countQueries } from "#test/support/count-queries.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { consumeCalls } from "#test/support/entries.ts";
import {
  aCallNow,
  type Bench,
  callsNow,
  message,
  neverCall,
  ownAccount,
  putIn,
  request,
  rowOf,
  sendEach,
  webhook,
} from "#test/support/dialer-calls.ts";
import { busy, minuteMs } from "#test/support/results-bench.ts";
import { setReceivers } from "#test/support/client-receivers-bench.ts";
import { toldTo } from "#test/support/events-bench.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const parentId = "00f067aa0ba902b7";
const sampled = `00-${traceId}-${parentId}-01`;
const unsampled = `00-${traceId}-${parentId}-00`;
const plan = { traces: { share: 1 }, ...toldTo() };
const startAt = "2026-11-24T12:00:00Z";
const create = (more: object = {}) => createDialerBench({ startAt, plan: { ...plan, ...more } });

const spansOf = (bench: Bench) =>
  bench.exported.filter(({ signal }) => signal === "traces").flatMap(({ json }) => readSpans(json));
const namesOf = (bench: Bench) => spansOf(bench).map(({ name }) => name);
const aTraced = (bench: Bench, traceparent = sampled) => aCallNow(bench, {}, { traceparent });

async function place(bench: Bench, traceparent = sampled) {
  const call = aTraced(bench, traceparent);
  bench.answer = async () => {
    bench.advance(700);
    return { kind: "placed" };
  };
  await bench.send(message(call));
  bench.advance(2_000);
  await bench.deliver();
  await bench.deliverEvents();
  return call;
}

describe("a traced call", () => {
  it("has a span for each step, under the caller's", async () => {
    const bench = create();
    const call = await place(bench);
    const spans = spansOf(bench);
    expect(spans.map(({ name }) => name)).toEqual(["accept", "dial", "settle", "deliver"]);
    for (const span of spans) expect(span).toMatchObject({ traceId, parentSpanId: parentId });
    const [accept, dial, settle, deliver] = spans;
    expect(accept?.startTimeUnixNano).toBe(`${call.acceptedAt}000000`);
    expect(accept?.endTimeUnixNano).toBe(`${call.acceptedAt + 2_000}000000`);
    const took = BigInt(dial?.endTimeUnixNano ?? 0) - BigInt(dial?.startTimeUnixNano ?? 0);
    expect(took).toBe(700_000_000n);
    expect(settle?.startTimeUnixNano).toBe(dial?.endTimeUnixNano);
    expect(attributeOf(settle ?? { attributes: [] }, "state")).toBe("PLACED");
    expect(attributeOf(deliver ?? { attributes: [] }, "event")).toBe("call.placed");
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(4);
    // One request a delivery.
    expect(bench.exported).toHaveLength(2);
  });

  it("hands its trace to a webhook, a check and a receiver, and returns it in events", async () => {
    const agents = { agent_sales: { ...webhook, checks: ["crm"] } };
    const bench = create({ agents, checks: { crm: { url: "http://127.0.0.1:9/crm" } } });
    await bench.send(message(aTraced(bench)));
    await bench.simulate(10);
    await bench.deliverEvents();
    const dial = spansOf(bench).find(({ name }) => name === "dial");
    const deliver = spansOf(bench).find(({ name }) => name === "deliver");
    expect(bench.asked[0]?.traceparent).toBe(sampled);
    expect(bench.dialed[0]?.traceparent).toBe(`00-${traceId}-${dial?.spanId}-01`);
    expect(bench.posted[0]?.traceparent).toBe(`00-${traceId}-${deliver?.spanId}-01`);
    expect(bench.posted[0]?.body.data).toMatchObject({ traceparent: sampled });
  });

  it("names a receiver of the plan, and none that its client has named, as by a number", async () => {
    const bench = create();
    await setReceivers(bench, "crm", { "13035550123": {} });
    await place(bench);
    const named = spansOf(bench).flatMap((span) => attributeOf(span, "receiver") ?? []);
    expect(named.toSorted()).toEqual(["*", "own:crm"]);
    expect(JSON.stringify(bench.exported)).not.toContain("13035550123");
  });

  it("hands on, and sends nothing, where its caller did not sample it", async () => {
    const bench = create();
    const call = await place(bench, unsampled);
    expect((await rowOf(bench, call)).traceparent).toBe(unsampled);
    expect(bench.dialed[0]?.traceparent).toBe(unsampled);
    expect(bench.posted[0]).toMatchObject({
      traceparent: unsampled,
      body: { data: { traceparent: unsampled } },
    });
    expect(bench.exported).toEqual([]);
  });

  it("begins with its acceptance where it has no caller's span", async () => {
    const bench = create();
    const call = aCallNow(bench);
    const own = `00-${traceId}-${acceptSpanIdOf(call.requestId)}-01`;
    await bench.send(message({ ...call, traceparent: own }));
    await bench.deliver();
    const [accept, ...others] = spansOf(bench);
    expect(accept).toMatchObject({ name: "accept", spanId: acceptSpanIdOf(call.requestId) });
    expect(accept).not.toHaveProperty("parentSpanId");
    for (const span of others) expect(span.parentSpanId).toBe(accept?.spanId);
  });

  it("waits in a span of its own, and is claimed again in further ones", async () => {
    const bench = create();
    const call = aTraced(bench);
    bench.answer = async () => ({ kind: "not_placed", code: "http_503", retryAfterSeconds: 60 });
    await bench.send(message(call));
    await bench.deliver();
    bench.answer = async () => ({ kind: "placed" });
    await bench.simulate(120);
    const spans = spansOf(bench);
    expect(spans.map(({ name }) => name)).toEqual([
      "accept",
      "dial",
      "settle",
      "wait",
      "dial",
      "settle",
    ]);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(6);
    const wait = spans.find(({ name }) => name === "wait");
    expect(attributeOf(wait ?? { attributes: [] }, "reason")).toBe("http_503");
  });

  it("ends with its wait where it is never dialed", async () => {
    const bench = create({ expireAfterHours: 1 });
    const call = aTraced(bench);
    await bench.send(message(call));
    bench.advance(2 * 3_600_000);
    await bench.deliver();
    expect((await rowOf(bench, call)).state).toBe("EXPIRED");
    expect(namesOf(bench)).toEqual(["accept"]);
  });

  it("has no span of the writes that record its events' deliveries", async () => {
    const bench = create();
    const call = aCallNow(bench, {}, { traceparent: sampled, notBefore: bench.now() + minuteMs });
    await bench.send(message(call));
    await bench.deliver();
    await neverCall(bench, call.request.phone_number);
    await bench.simulate(120);
    await bench.deliverEvents();
    expect((await rowOf(bench, call)).state).toBe("REJECTED");
    expect(namesOf(bench)).toEqual(["accept", "wait", "deliver"]);
  });

  it("has its trace in all of its tries", async () => {
    const retry = { attempts: 2, within: "24h", after: { busy: "15m" } };
    const agents = { agent_sales: { provider: "vapi", agent: "a-1", from: "p-1", retry } };
    const bench = create({ agents, results: {} });
    bench.answer = async () => ({ kind: "placed", providerCallId: `ring_${bench.dialed.length}` });
    bench.record = async () => busy;
    const call = aTraced(bench);
    await sendEach(bench, call);
    await bench.simulate(5);
    for (let minute = 0; minute < 30; minute++) {
      await bench.simulate(60);
      await bench.deliverEvents();
    }
    const next = (await rowOf(bench, call)).next ?? { id: "" };
    expect((await rowOf(bench, next)).traceparent).toBe(sampled);
    const spans = spansOf(bench);
    expect(spans.filter(({ name }) => name === "dial")).toHaveLength(2);
    expect(spans.filter(({ name }) => name === "accept")).toHaveLength(1);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  });
});

describe("a repeated delivery", () => {
  it("makes no second span", async () => {
    const bench = create();
    const call = await place(bench);
    const before = spansOf(bench);
    await bench.send(message(call), message(call));
    await bench.deliver();
    await bench.deliver();
    await bench.deliverEvents();
    expect(spansOf(bench)).toEqual(before);
    expect(bench.dialed).toHaveLength(1);
  });

  it("of an event repeats its span", async () => {
    const bench = create();
    const call = aTraced(bench);
    await bench.send(message(call));
    await bench.deliver();
    const { ledger } = bench.deps;
    bench.deps.ledger = { ...ledger, write: async () => Promise.reject(new Error("down")) };
    await bench.deliverEvents();
    bench.deps.ledger = ledger;
    bench.advance(2 * minuteMs);
    await bench.sweep();
    await bench.deliverEvents();
    const delivered = spansOf(bench).filter(({ name }) => name === "deliver");
    expect(delivered).toHaveLength(2);
    expect(new Set(delivered.map(({ spanId }) => spanId)).size).toBe(1);
  });

  it("of a large request has one span of its acceptance", async () => {
    const bench = create();
    const requestId = aRequestId(bench.now());
    const traced = callsNow(bench, 30).map((call, index) => ({
      ...call,
      requestId,
      id: toCallId(requestId, index),
      traceparent: sampled,
    }));
    await bench.send(request(traced), request(traced));
    await bench.deliver();
    expect(namesOf(bench)).toEqual(["accept"]);
    expect(attributeOf(spansOf(bench)[0] ?? { attributes: [] }, "calls")).toBe("30");
  });
});

describe("a collector that fails", () => {
  it("costs a call nothing but a line in the log", async () => {
    const bench = create();
    bench.collect = async () => "TimeoutError";
    const call = await place(bench);
    expect((await rowOf(bench, call)).state).toBe("PLACED");
    expect(bench.eventsOf("traces.not_sent")).toMatchObject([
      { level: "warning", count: 3, code: "TimeoutError" },
      { level: "warning", count: 1 },
    ]);
    expect(bench.queued()).toEqual([]);
  });
});

describe("a plan without traces", () => {
  it("has as many statements, rows of the same bytes, and no request", async () => {
    const requestId = aRequestId(Date.parse(startAt));
    const run = async (traces: object, traceparent?: string) => {
      const bench = createDialerBench({ startAt, plan: { ...toldTo(), ...traces } });
      const call = aCallNow(bench, {}, { requestId, id: toCallId(requestId, 0) });
      const counted = { ...bench.deps, ...countQueries(bench.deps) };
      const json = JSON.stringify({ ...message(call), traceparent });
      const one = { id: "one", attempt: 1, open: async () => json };
      await consumeCalls([one], counted, bench.now() + 900_000);
      const [row] = [...bench.stored.values()];
      return { count: counted.count(), bytes: row?.json.length ?? 0, exported: bench.exported };
    };
    const off = await run({});
    const on = await run({ traces: { share: 1 } }, sampled);
    expect(off.exported).toEqual([]);
    expect(on.exported).toHaveLength(1);
    // With traces a row has its traceparent more, and no statement is.
    expect(on.count).toBe(off.count);
    const field = JSON.stringify({ traceparent: sampled }).length - 1;
    expect(on.bytes - off.bytes).toBe(field);
  });
});

describe("metrics", () => {
  it("are sent by a sweep from the usage of the hour and its own figures", async () => {
    const bench = create();
    bench.advance(minuteMs);
    await place(bench);
    await place(bench);
    const waiting = aTraced(bench);
    bench.answer = async () => ({ kind: "not_placed", code: "http_503", retryAfterSeconds: 3_000 });
    await bench.send(message(waiting));
    await bench.deliver();
    await bench.sweep();
    const sent = bench.exported.filter(({ signal }) => signal === "metrics");
    expect(sent).toHaveLength(1);
    const metrics = new Map(readMetrics(sent[0]?.json ?? "").map((one) => [one.name, one]));
    const values = (name: string, by: string) =>
      Object.fromEntries(
        (metrics.get(`outbound_calls.${name}`)?.sum?.dataPoints ?? []).map((one) => [
          attributeOf(one, by),
          one.asInt,
        ]),
      );
    expect(values("calls", "state")).toMatchObject({ PLACED: "2", WAITING: "1" });
    expect(metrics.get("outbound_calls.accepted")?.sum).toMatchObject({
      isMonotonic: true,
      dataPoints: [{ asInt: "3", startTimeUnixNano: `${Date.parse(startAt)}000000` }],
    });
    expect(metrics.get("outbound_calls.provider.answer")?.histogram?.dataPoints).toMatchObject([
      { count: "3", sum: 1.4 },
    ]);
    expect(metrics.get("outbound_calls.dial.wait")?.histogram?.dataPoints).toMatchObject([
      { count: "3", sum: 4 },
    ]);
    expect(metrics.get("outbound_calls.waiting")?.gauge?.dataPoints).toMatchObject([
      { asInt: "1" },
    ]);
    expect(metrics.get("outbound_calls.needs_review")?.gauge?.dataPoints).toMatchObject([
      { asInt: "0" },
    ]);
  });

  it("leave out test calls that share a delivery with real ones", async () => {
    const bench = create();
    bench.advance(minuteMs);
    const test = { client: "test:crm", mode: "test", traceparent: sampled } as const;
    const callee = { phone_number: "+12025550100", timezone: "UTC" };
    const tested = aCallNow(bench, callee, test);
    bench.answer = async () => {
      bench.advance(700);
      return { kind: "placed" };
    };
    const real = aTraced(bench);
    for (const call of [tested, real]) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    const rows = [
      { id: tested.id, account: "test:crm:webhook" },
      { id: real.id, account: ownAccount },
    ];
    bench.advance(2_000);
    await bench.send({ kind: "dispatch", rows });
    await bench.deliver();
    for (const call of [tested, real])
      expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED" });
    await bench.sweep();
    const sent = bench.exported.find(({ signal }) => signal === "metrics");
    const metrics = new Map(readMetrics(sent?.json ?? "").map((one) => [one.name, one]));
    for (const name of ["dial.wait", "provider.answer"])
      expect(metrics.get(`outbound_calls.${name}`)?.histogram?.dataPoints).toMatchObject([
        { count: "1" },
      ]);
  });

  it("have the last counts of the hour before though the first sweep is slow", async () => {
    const bench = create();
    await place(bench);
    bench.advance(3_600_000 - (bench.now() % 3_600_000) + 30_000);
    const { ledger } = bench.deps;
    const dialing: typeof ledger.dialing = async (limit) => {
      bench.advance(40_000);
      return ledger.dialing(limit);
    };
    bench.deps.ledger = { ...ledger, dialing };
    await bench.sweep();
    const sent = bench.exported.find(({ signal }) => signal === "metrics");
    const accepted = readMetrics(sent?.json ?? "").find(
      ({ name }) => name === "outbound_calls.accepted",
    );
    expect(accepted?.sum?.dataPoints.map(({ asInt }) => asInt)).toEqual(["1"]);
  });

  it("begin anew with an hour, whose first sweep sends the last counts of the hour before", async () => {
    const bench = create();
    await place(bench);
    bench.advance(3_600_000 - (bench.now() % 3_600_000) + 1_000);
    await place(bench);
    await bench.sweep();
    bench.advance(2 * minuteMs);
    await bench.sweep();
    const accepted = bench.exported
      .filter(({ signal }) => signal === "metrics")
      .map(({ json }) => readMetrics(json).find(({ name }) => name === "outbound_calls.accepted"))
      .map((metric) =>
        metric?.sum?.dataPoints.map(({ asInt, timeUnixNano }) => [asInt, timeUnixNano]),
      );
    const hour = Date.parse(startAt) + 3_600_000;
    expect(accepted[0]?.[0]).toEqual(["1", `${hour}000000`]);
    expect(accepted.map((points) => points?.length)).toEqual([1, 1]);
  });
});
