import { describe, expect, it } from "vitest";
import {
  encodeMetrics,
  encodeSpans,
  type Span,
  toGauge,
  toSum,
  toTimes,
} from "#shared/traces/otlp.ts";
import { attributeOf, readMetrics, readSpans } from "#test/support/collector.ts";

const span: Span = {
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
  spanId: "00f067aa0ba902b7",
  name: "dial",
  kind: 3,
  startAt: 1_700_000_000_000.6,
  endAt: 1_700_000_000_500,
  attributes: {},
};
const read = (more: Partial<Span>) => readSpans(encodeSpans([{ ...span, ...more }]))[0];

describe("an encoded span", () => {
  it("has whole milliseconds, and no end before its beginning", () => {
    expect(read({})).toMatchObject({
      startTimeUnixNano: "1700000000000000000",
      endTimeUnixNano: "1700000000500000000",
    });
    expect(read({ endAt: 1 })?.endTimeUnixNano).toBe("1700000000000000000");
  });

  it("cuts a text that somebody chose, and keeps the kinds of other values", () => {
    const attributes = { call_id: "x".repeat(300), attempt: 2, test: true };
    const { attributes: encoded = [] } = read({ attributes }) ?? {};
    expect(attributeOf({ attributes: encoded }, "call_id")).toBe("x".repeat(128));
    expect(encoded.slice(1).map(({ value }) => value)).toEqual([
      { intValue: "2" },
      { boolValue: true },
    ]);
  });

  it("has a status if it is an error", () => {
    const statuses = [true, false].map((isError) => read({ isError })?.status);
    expect([...statuses, read({})?.status]).toEqual([{ code: 2 }, {}, {}]);
  });

  it("has its parent's id, unless it is the root", () => {
    expect(read({ parentId: "00f067aa0ba902b8" })?.parentSpanId).toBe("00f067aa0ba902b8");
    expect(read({})).not.toHaveProperty("parentSpanId");
  });
});

describe("an encoded gauge", () => {
  it("is in seconds if its name says so, and in whole numbers", () => {
    const at = 1_700_000_000_000;
    const metrics = ["oldest_event_seconds", "waiting"].map((name) =>
      toGauge(name, [{ value: 1.6, at }]),
    );
    expect(readMetrics(encodeMetrics(metrics))).toMatchObject([
      { name: "outbound_calls.oldest_event_seconds", unit: "s" },
      { name: "outbound_calls.waiting", unit: "1", gauge: { dataPoints: [{ asInt: "2" }] } },
    ]);
  });
});

describe("encoded counts and times of an hour", () => {
  const [startAt, at] = [1_700_000_000_000, 1_700_000_060_000];
  const hour = {
    attributes: [{ key: "outbound_calls.state", value: { stringValue: "PLACED" } }],
    startTimeUnixNano: "1700000000000000000",
    timeUnixNano: "1700000060000000000",
  };
  const point = { startAt, at, attributes: { state: "PLACED" } };

  it("begin at zero with the hour", () => {
    const metrics = [
      toSum("calls", [{ ...point, value: 3 }], true),
      toSum("results", [{ ...point, value: -1 }], false),
      toTimes("dial.wait", [{ ...point, value: 1.5, count: 2 }]),
    ];
    const sums = { aggregationTemporality: 2 };
    expect(readMetrics(encodeMetrics(metrics))).toEqual([
      {
        name: "outbound_calls.calls",
        unit: "1",
        sum: { ...sums, isMonotonic: true, dataPoints: [{ ...hour, asInt: "3" }] },
      },
      {
        name: "outbound_calls.results",
        unit: "1",
        sum: { ...sums, isMonotonic: false, dataPoints: [{ ...hour, asInt: "-1" }] },
      },
      {
        name: "outbound_calls.dial.wait",
        unit: "s",
        histogram: {
          ...sums,
          dataPoints: [{ ...hour, count: "2", sum: 1.5, bucketCounts: ["2"], explicitBounds: [] }],
        },
      },
    ]);
  });
});
