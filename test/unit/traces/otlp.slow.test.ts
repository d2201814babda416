import { SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { parseTraceParent } from "@opentelemetry/core";
import { JsonMetricsSerializer, JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import {
  encodeMetrics,
  encodeSpans,
  type Span,
  toGauge,
  toSum,
  toTimes,
} from "#shared/traces/otlp.ts";
import { parseTraceparent } from "#shared/traces/trace-context.ts";
import { readMetrics, readSpans } from "#test/support/collector.ts";

// OpenTelemetry's own packages are the second source: of the same spans and metrics they write the same JSON.

const hrTime = (ms: number): [number, number] => [Math.floor(ms / 1000), (ms % 1000) * 1e6];
const hex = (length: number) => fc.stringMatching(new RegExp(`^[1-9a-f]{${length}}$`));
const time = fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 });
const spans: fc.Arbitrary<Span> = fc
  .record({
    traceId: hex(32),
    spanId: hex(16),
    parentId: fc.option(hex(16), { nil: undefined }),
    name: fc.constantFrom("accept", "wait", "dial", "settle", "deliver"),
    kind: fc.constantFrom(1, 2, 3),
    startAt: time,
    ms: fc.nat(100_000),
    isError: fc.boolean(),
    attributes: fc.record({
      call_id: fc.string({ maxLength: 100 }),
      reason: fc.constantFrom("placed", "http_503"),
      attempt: fc.nat(20),
      test: fc.boolean(),
    }),
  })
  .map(({ ms, ...span }) => ({ ...span, endAt: span.startAt + ms }));

const resource = { attributes: { "service.name": "outbound-calls" }, merge: () => resource };
const scope = { name: "outbound-calls" };
const prefixed = (attributes: object) =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [`outbound_calls.${name}`, value]),
  );

/** Returns JSON as a value in which integers of 64 bits are texts, as both ways are permitted, without fields that may be absent. */
function comparable(json: string): unknown {
  const optional = new Set([
    "droppedAttributesCount",
    "droppedEventsCount",
    "droppedLinksCount",
    "events",
    "links",
    "flags",
    "traceState",
    "schemaUrl",
    "version",
    "description",
  ]);
  const texts = new Set(["intValue", "asInt", "count"]);
  return JSON.parse(json, (key, value: unknown) => {
    if (optional.has(key)) return undefined;
    if (key === "bucketCounts" && Array.isArray(value)) return value.map(String);
    if (key === "status" && JSON.stringify(value) === '{"code":0}') return {};
    return texts.has(key) ? String(value) : value;
  });
}

it("writes spans as OpenTelemetry's own exporter does", () => {
  fc.assert(
    fc.property(fc.array(spans, { minLength: 1, maxLength: 5 }), (some) => {
      const theirs = some.map(({ traceId, spanId, parentId, ...span }) => ({
        name: span.name,
        kind: { 1: SpanKind.INTERNAL, 2: SpanKind.SERVER, 3: SpanKind.CLIENT }[span.kind],
        spanContext: () => ({ traceId, spanId, traceFlags: TraceFlags.SAMPLED }),
        ...(parentId === undefined
          ? {}
          : { parentSpanContext: { traceId, spanId: parentId, traceFlags: TraceFlags.SAMPLED } }),
        startTime: hrTime(span.startAt),
        endTime: hrTime(span.endAt),
        status: { code: span.isError === true ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
        attributes: prefixed(span.attributes),
        links: [],
        events: [],
        duration: hrTime(span.endAt - span.startAt),
        ended: true,
        resource,
        instrumentationScope: scope,
        droppedAttributesCount: 0,
        droppedEventsCount: 0,
        droppedLinksCount: 0,
      }));
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- spans as its SDK makes them
      const bytes = JsonTraceSerializer.serializeRequest(theirs as never);
      const json = encodeSpans(some);
      expect(comparable(json)).toEqual(comparable(new TextDecoder().decode(bytes)));
      expect(readSpans(json)).toHaveLength(some.length);
    }),
  );
});

it("writes metrics as OpenTelemetry's own exporter does", () => {
  const at = Date.parse("2026-11-24T12:34:56.789Z");
  const startAt = at - (at % 3_600_000);
  const metrics = [
    toGauge("due_calls", [{ value: 7, at }]),
    toSum("calls", [{ startAt, at, value: 3, attributes: { state: "PLACED" } }], true),
    toTimes("dial.wait", [{ startAt, at, value: 1.5, count: 2 }]),
  ];
  const descriptor = (name: string, unit: string) => ({
    name: `outbound_calls.${name}`,
    unit,
    description: "",
    valueType: 0,
    advice: {},
  });
  const of = { startTime: hrTime(startAt), endTime: hrTime(at) };
  const theirs = {
    resource,
    scopeMetrics: [
      {
        scope,
        metrics: [
          {
            descriptor: descriptor("due_calls", "1"),
            dataPointType: 2,
            aggregationTemporality: 1,
            dataPoints: [{ ...of, attributes: {}, value: 7 }],
          },
          {
            descriptor: descriptor("calls", "1"),
            dataPointType: 3,
            aggregationTemporality: 1,
            isMonotonic: true,
            dataPoints: [{ ...of, attributes: prefixed({ state: "PLACED" }), value: 3 }],
          },
          {
            descriptor: descriptor("dial.wait", "s"),
            dataPointType: 0,
            aggregationTemporality: 1,
            dataPoints: [
              {
                ...of,
                attributes: {},
                value: { buckets: { boundaries: [], counts: [2] }, count: 2, sum: 1.5 },
              },
            ],
          },
        ],
      },
    ],
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- metrics as its SDK makes them
  const bytes = JsonMetricsSerializer.serializeRequest(theirs as never);
  const json = encodeMetrics(metrics);
  // A gauge has no beginning.
  const withoutStart = (text: string) =>
    JSON.stringify(comparable(text)).replace(
      /("gauge":\{"dataPoints":\[\{[^}]*?)"startTimeUnixNano":"\d+",/,
      "$1",
    );
  expect(JSON.parse(withoutStart(json))).toEqual(
    JSON.parse(withoutStart(new TextDecoder().decode(bytes))),
  );
  expect(readMetrics(json)).toHaveLength(3);
});

it("reads a traceparent as OpenTelemetry's own parser does, but for longer and later ones", () => {
  const part = (length: number) => fc.oneof(hex(length), fc.constant("0".repeat(length)));
  const texts = fc
    .tuple(fc.constantFrom("00", "ff"), part(32), part(16), part(2))
    .map((parts) => parts.join("-"));
  fc.assert(
    fc.property(fc.oneof(texts, fc.string({ maxLength: 60 })), (text) => {
      const read = parseTraceparent(text);
      const theirs = parseTraceParent(text);
      expect(read?.traceId).toBe(theirs?.traceId);
      expect(read?.parentId).toBe(theirs?.spanId);
      if (read !== undefined) {
        expect(read.isSampled).toBe(Number(theirs?.traceFlags) % 2 === 1);
      }
    }),
  );
});
