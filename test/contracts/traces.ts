import { describe, expect, it } from "vitest";
import { indexOf, requestIdOf } from "#shared/calls/ids.ts";
import { attributeOf, readMetrics, readSpans, type ReadSpan } from "../support/collector.ts";
import { jsonRequest } from "../support/json-request.ts";
import { token } from "../support/open-service.ts";
import { startReceiver } from "../support/receiver.ts";
import { type PlatformUnderTest, repeatUntil, until } from "../support/service.ts";
import { useOpenService } from "../support/use-open-service.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const parentId = "00f067aa0ba902b7";
const sampled = `00-${traceId}-${parentId}-01`;
const number = "+13035550123";
const name = "Zoë-Marker";
const context = "context-marker";
const secret = "header-marker";

/** Headers that are no `traceparent`: their requests have a trace of their own. */
const hostile = [
  sampled.toUpperCase(),
  sampled.replace(/^00/, "ff"),
  `00-${"0".repeat(32)}-${parentId}-01`,
  `00-${traceId}-${"0".repeat(16)}-01`,
  `${sampled}, ${sampled}`,
  "0".repeat(8_000),
];

/** Describes the whole service with a plan that asks for traces, and a collector. */
export function describeTraces(platform: PlatformUnderTest): void {
  describe(`${platform.script} with traces`, () => {
    const bench = useOpenService(
      platform,
      async () => ({
        collector: await startReceiver((_one, response) => response.end("{}")),
        provider: await startReceiver((one, response) =>
          response.writeHead(201).end(JSON.stringify({ id: `placed ${one.id}` })),
        ),
        receiver: await startReceiver((_one, response) => response.writeHead(204).end()),
        check: await startReceiver((_one, response) =>
          response.end(JSON.stringify({ decision: "call" })),
        ),
      }),
      ({ collector, provider, receiver, check }) => ({
        plan: {
          agents: {
            sales: { provider: "webhook", url: `${provider.url}/dial` },
            checked: { provider: "webhook", url: `${provider.url}/dial`, checks: ["crm"] },
          },
          checks: { crm: { url: `${check.url}/may-we-call` } },
          events: { "*": { url: `${receiver.url}/events` } },
          traces: { share: 1 },
        },
        environment: {
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
          OTEL_EXPORTER_OTLP_HEADERS: `x-secret=${secret}`,
        },
      }),
    );

    const post = async (body: object, headers: Record<string, string>): Promise<string> => {
      const path = Array.isArray(body) ? "/v1/calls/batch" : "/v1/calls";
      const request = jsonRequest(token, "POST", body, headers);
      const answer = await fetch(bench.service.address + path, request);
      expect(answer.status).toBe(201);
      return answer.headers.get("x-request-id") ?? "";
    };
    const spans = (): ReadSpan[] =>
      bench.servers.collector.to("/v1/traces").flatMap(({ text }) => readSpans(text));
    const spansOf = (requestId: string) =>
      spans().filter((span) =>
        [attributeOf(span, "request_id"), requestIdOf(attributeOf(span, "call_id") ?? "")].includes(
          requestId,
        ),
      );
    const steps = ["accept", "dial", "settle", "deliver"];
    const areWhole = (requestId: string) => {
      const names = new Set<string>(spansOf(requestId).map((span) => span.name));
      return steps.every((step) => names.has(step));
    };
    /** Sends a request, and further ones until the collector has all spans of one. */
    const traced = async (
      send: () => Promise<string>,
      isWhole: (requestId: string) => boolean = areWhole,
    ): Promise<string> => {
      const sent: string[] = [];
      await repeatUntil(
        async () => sent.push(await send()),
        () => sent.some(isWhole),
      );
      return sent.find(isWhole) ?? "";
    };

    it("sends a span for each step of a call, and hands its trace on", async () => {
      const call = { phone_number: number, agent_id: "checked", context: { name, context } };
      const headers = { traceparent: sampled, tracestate: "vendor=marker" };
      const requestId = await traced(() => post(call, headers));
      const own = spansOf(requestId);
      for (const span of own) expect(span).toMatchObject({ traceId, parentSpanId: parentId });
      expect(new Set(own.map(({ spanId }) => spanId)).size).toBe(own.length);
      const idOf = (step: string) => own.find((span) => span.name === step)?.spanId;
      const { provider, receiver, check } = bench.servers;
      expect(check.received[0]?.headers).toMatchObject({ traceparent: sampled });
      const dialed = provider.received.find(({ id }) => id.includes(requestId));
      expect(dialed?.headers["traceparent"]).toBe(`00-${traceId}-${idOf("dial")}-01`);
      expect(dialed?.headers).not.toHaveProperty("tracestate");
      const told = receiver.received.filter(({ text }) => text.includes(requestId));
      const event = told.find(({ text }) => text.includes("call.placed"));
      expect(event?.headers["traceparent"]).toBe(`00-${traceId}-${idOf("deliver")}-01`);
      expect(JSON.parse(event?.text ?? "")).toMatchObject({ data: { traceparent: sampled } });
    });

    it("takes a repeat with another span for a repeat, and dials once", async () => {
      const call = { phone_number: number, agent_id: "sales" };
      const other = sampled.replace(parentId, "00f067aa0ba902b8");
      const first = await traced(async () => {
        const key = { "idempotency-key": crypto.randomUUID() };
        const requestId = await post(call, { ...key, traceparent: sampled });
        expect(await post(call, { ...key, traceparent: other })).toBe(requestId);
        return requestId;
      });
      const own = spansOf(first);
      expect(own.filter((span) => span.name === "dial")).toHaveLength(1);
      expect(new Set(own.map(({ spanId }) => spanId)).size).toBe(own.length);
      for (const span of own) expect(span.parentSpanId).toBe(own[0]?.parentSpanId);
    });

    it("sends none of an unsampled request, and gives hostile headers traces of their own", async () => {
      const call = { phone_number: number, agent_id: "sales" };
      const unsampled = await post(call, { traceparent: sampled.replace(/01$/, "00") });
      const ids = await Promise.all(
        hostile.map((traceparent) => traced(() => post(call, { traceparent }))),
      );
      for (const id of ids) {
        const own = spansOf(id);
        const root = own.find((span) => span.name === "accept");
        expect(root).not.toHaveProperty("parentSpanId");
        expect(root?.traceId).not.toBe(traceId);
        for (const span of own) expect(span.traceId).toBe(root?.traceId);
      }
      expect(new Set(ids.map((id) => spansOf(id)[0]?.traceId)).size).toBe(ids.length);
      const rows = await platform.rows(bench.service);
      expect(rows.find(({ id }) => requestIdOf(id) === unsampled)?.state).toBe("PLACED");
      expect(spansOf(unsampled)).toEqual([]);
    });

    it("has one span of the acceptance of a batch that is split into rows", async () => {
      const calls = Array.from({ length: 30 }, (_, index) => ({
        phone_number: `+1303555${String(1000 + index)}`,
        agent_id: "sales",
      }));
      const dialed = (id: string) => spansOf(id).filter((span) => span.name === "settle");
      const requestId = await traced(
        () => post(calls, { traceparent: sampled }),
        (id) => dialed(id).length >= 30,
      );
      const own = spansOf(requestId);
      expect(own.filter((span) => span.name === "accept")).toHaveLength(1);
      expect(own.filter((span) => span.name === "wait").length).toBeGreaterThanOrEqual(30);
      const indexes = dialed(requestId).map((span) => indexOf(attributeOf(span, "call_id") ?? ""));
      expect(new Set(indexes).size).toBe(30);
      expect(new Set(own.map(({ spanId }) => spanId)).size).toBe(own.length);
    });

    it("sends metrics, with each request the secret header and nothing of a person", async () => {
      const { collector } = bench.servers;
      await until(() => collector.to("/v1/metrics").length > 0);
      const names = collector
        .to("/v1/metrics")
        .flatMap(({ text }) => readMetrics(text).map((metric) => metric.name));
      expect(names).toContain("outbound_calls.calls");
      for (const { headers, text } of collector.received) {
        expect(headers).toMatchObject({ "x-secret": secret, "content-type": "application/json" });
        for (const marker of ["303555", name, context, secret, token, "http:", "marker"])
          expect(text).not.toContain(marker);
      }
      expect(bench.service.output()).not.toContain(secret);
    });
  });
}
