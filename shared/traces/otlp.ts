/**
 * Traces and metrics as the JSON of OTLP 1 (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): names in
 * lowerCamelCase, ids in hex, enums as numbers, 64-bit integers as decimal strings.
 */
import type { SpanStep } from "./trace-context.ts";

/**
 * Permitted attributes, a closed list as that of the log: ids, codes and counts. None can hold a number, a name, a
 * context, a token or a URL. One that is undefined is left out.
 */
export interface Attributes {
  call_id?: string | undefined;
  request_id?: string;
  client?: string;
  /** An agent of the plan, or `*`. */
  agent_id?: string;
  account?: string | undefined;
  provider?: string | undefined;
  state?: string;
  reason?: string;
  /** Kind of a provider's answer, or status of a call's result. */
  outcome?: string;
  /** Type of an event, and who received it. */
  event?: string;
  receiver?: string;
  attempt?: number;
  calls?: number;
  test?: boolean | undefined;
}

/** A finished span. Times are milliseconds since the epoch. */
export interface Span {
  traceId: string;
  spanId: string;
  /** Absent: it is the root of its trace. */
  parentId?: string | undefined;
  name: SpanStep;
  /** Its kind by OTLP's number: 1 is internal, 2 a server's, 3 a client's. */
  kind: 1 | 2 | 3;
  startAt: number;
  endAt: number;
  isError?: boolean;
  attributes: Attributes;
}

const scope = { name: "outbound-calls" };
const resource = { attributes: [{ key: "service.name", value: { stringValue: scope.name } }] };
/** Prefix of our attributes and metrics. */
const prefix = "outbound_calls.";
/** Maximum characters of an attribute's value. */
const charactersMax = 128;
/** OTLP's code of a span's status: an error. */
const errorStatus = { code: 2 };

/** Returns the body of a request to `/v1/traces`. */
export function encodeSpans(spans: readonly Span[]): string {
  const encoded = spans.map(({ traceId, spanId, parentId, name, kind, ...span }) => ({
    traceId,
    spanId,
    parentSpanId: parentId,
    name,
    kind,
    startTimeUnixNano: toNanos(span.startAt),
    // The clocks of two machines may differ.
    endTimeUnixNano: toNanos(Math.max(span.startAt, span.endAt)),
    attributes: encodeAttributes(span.attributes),
    status: span.isError === true ? errorStatus : {},
  }));
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans: encoded }] }] });
}

/** A value at a time, with these attributes. */
interface Point {
  attributes?: Attributes;
  value: number;
  at: number;
  /** Beginning of the hour of which it is a sum. Absent: it is none. */
  startAt?: number;
}

/** A metric in OTLP's form, with one kind of data. */
export interface Metric {
  name: string;
  unit: string;
  gauge?: object;
  sum?: object;
  histogram?: object;
}

/** OTLP's number of sums that begin at zero at `startTimeUnixNano`. */
const aggregationTemporality = 2;

const pointOf = ({ attributes = {}, at, startAt }: Point) => ({
  attributes: encodeAttributes(attributes),
  timeUnixNano: toNanos(at),
  startTimeUnixNano: startAt === undefined ? undefined : toNanos(startAt),
});
const countOf = (point: Point) => ({ ...pointOf(point), asInt: String(Math.round(point.value)) });

/** Returns a metric of values. */
export function toGauge(name: string, points: readonly Point[]): Metric {
  return {
    name: prefix + name,
    unit: name.endsWith("_seconds") ? "s" : "1",
    gauge: { dataPoints: points.map(countOf) },
  };
}

/** Returns a metric of counts of hours. `isMonotonic`: they never fall within an hour. */
export function toSum(name: string, points: readonly Point[], isMonotonic: boolean): Metric {
  return {
    name: prefix + name,
    unit: "1",
    sum: { dataPoints: points.map(countOf), aggregationTemporality, isMonotonic },
  };
}

/** Returns a metric of times of hours, by their sum in seconds and their number. */
export function toTimes(name: string, points: readonly (Point & { count: number })[]): Metric {
  const dataPoints = points.map((one) => ({
    ...pointOf(one),
    count: String(one.count),
    sum: one.value,
    bucketCounts: [String(one.count)],
    explicitBounds: [],
  }));
  return {
    name: prefix + name,
    unit: "s",
    histogram: { dataPoints, aggregationTemporality },
  };
}

/** Returns the body of a request to `/v1/metrics`. */
export function encodeMetrics(metrics: readonly Metric[]): string {
  return JSON.stringify({ resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] });
}

function encodeAttributes(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([name, value]: [string, unknown]) =>
    value === undefined ? [] : { key: prefix + name, value: encodeValue(value) },
  );
}

function encodeValue(value: unknown): object {
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return { intValue: String(value) };
  return { stringValue: String(value).slice(0, charactersMax) };
}

function toNanos(ms: number): string {
  return `${Math.floor(ms)}000000`;
}
