import { describe, expect, it } from "vitest";
import { createHandlers, handlerFor } from "#functions/dialer/handlers.ts";
import { readSpans } from "#test/support/collector.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { aCall } from "#test/support/calls.ts";
import { callsNow, message } from "#test/support/dialer-calls.ts";
import { createCollector } from "#shared/traces/collector.ts";
import { startTestReceiver } from "#test/support/test-receiver.ts";

const body = JSON.stringify(message(aCall()));
const delivered = (attempt: number) => ({
  id: "one",
  attempt,
  open: async () => body,
});

function createUnconfigured() {
  const bench = createDialerBench();
  const settings = { problem: "HASH_KEY is not set" };
  return { bench, handlers: createHandlers({ ...bench.deps, settings }) };
}

describe("the events queue", () => {
  const event = (sent: object) => ({ ...delivered(1), open: async () => JSON.stringify(sent) });

  it("is distinguished from the call queue by the end of its name", () => {
    const names = ["outbound-calls", "x:outbound-calls-events"];
    expect(names.map(handlerFor)).toEqual(["messages", "events"]);
  });

  it("redelivers messages that no version can read, and dials nobody", async () => {
    const bench = createDialerBench();
    const handlers = createHandlers({ ...bench.deps, settings: { value: bench.deps.settings } });
    const known = event({ kind: "poll", account: "twilio", sentAt: 0 });
    const answers = await handlers.events([known, event({ kind: "odd" })], bench.now() + 900_000);
    expect(answers).toEqual(["ack", { retryAfterSeconds: 5 }]);
    expect(bench.dialed).toEqual([]);
    expect(bench.eventsOf("message.unreadable")).toHaveLength(1);
  });
});

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

describe("the dialer with a collector of traces", () => {
  it("sends spans and metrics once the work of an invocation is done", async () => {
    const startAt = "2026-11-24T12:00:00Z";
    const bench = createDialerBench({ startAt, plan: { traces: { share: 1 } } });
    const handlers = createHandlers({ ...bench.deps, settings: { value: bench.deps.settings } });
    const call = { ...aCall({ acceptedAt: bench.now() }), traceparent };
    const one = { ...delivered(1), open: async () => JSON.stringify(message(call)) };
    expect(await handlers.messages([one], bench.now() + 900_000)).toEqual(["ack"]);
    expect(bench.exported.map(({ signal }) => signal)).toEqual(["traces"]);
    expect(readSpans(bench.exported[0]?.json ?? "").map(({ name }) => name)).toEqual([
      "accept",
      "dial",
      "settle",
    ]);
    await handlers.sweep(bench.now() + 120_000);
    expect(bench.exported.map(({ signal }) => signal)).toEqual(["traces", "metrics"]);
    expect(await handlers.events([], bench.now() + 900_000)).toEqual([]);
    expect(bench.exported).toHaveLength(2);
  });
});

describe("the dialer with a collector that answers nothing", () => {
  it("acknowledges each message, and waits for one request a minute", async () => {
    const silent = await startTestReceiver(() => undefined);
    const bench = createDialerBench({ plan: { traces: { share: 1 } } });
    const collector = createCollector({
      environment: { OTEL_EXPORTER_OTLP_ENDPOINT: silent.url },
      fetch,
      now: bench.now,
    });
    const settings = { value: { ...bench.deps.settings, collector } };
    const handlers = createHandlers({ ...bench.deps, settings });
    const calls = callsNow(bench, 5, {}, { traceparent });
    const deliverEach = async () => {
      for (const call of calls) {
        const one = { ...delivered(1), open: async () => JSON.stringify(message(call)) };
        expect(await handlers.messages([one], bench.now() + 900_000)).toEqual(["ack"]);
      }
    };
    await deliverEach();
    expect(silent.received).toHaveLength(1);
    expect(bench.eventsOf("traces.not_sent")).toMatchObject([
      { level: "warning", code: "TimeoutError" },
    ]);
    await deliverEach();
    expect(bench.dialed).toHaveLength(5);
  });
});

describe("the dialer with wrong settings", () => {
  it("dials nobody, and hands every message back to the queue", async () => {
    const { bench, handlers } = createUnconfigured();
    const answers = await handlers.messages([delivered(1), delivered(3)], bench.now() + 900_000);
    expect(answers).toEqual([{ retryAfterSeconds: 5 }, { retryAfterSeconds: 20 }]);
    expect(await handlers.events([delivered(1)], bench.now() + 900_000)).toEqual([
      { retryAfterSeconds: 5 },
    ]);
    expect(bench.dialed).toEqual([]);
    expect(bench.stored.size).toBe(0);
    const expected = { level: "alarm", count: 2, problem: "HASH_KEY is not set" };
    expect(bench.eventsOf("dialer.not_configured")).toMatchObject([expected, { count: 1 }]);
  });

  it("sweeps and purges nothing, with an alarm each", async () => {
    const { bench, handlers } = createUnconfigured();
    await handlers.sweep(bench.now() + 120_000);
    await handlers.upkeep(bench.now() + 120_000);
    expect(bench.queued()).toEqual([]);
    expect(bench.eventsOf("dialer.not_configured")).toMatchObject([
      { level: "alarm" },
      { level: "alarm" },
    ]);
  });
});
