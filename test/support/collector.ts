import * as z from "zod";

/** An attribute as OTLP has it in JSON. */
const attribute = z.strictObject({
  key: z.string().startsWith("outbound_calls."),
  value: z.union([
    z.strictObject({ stringValue: z.string().max(128) }),
    z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
    z.strictObject({ boolValue: z.boolean() }),
  ]),
});
const nanos = z.string().regex(/^[1-9]\d{15,18}$/);
const spanId = z
  .string()
  .regex(/^[\da-f]{16}$/)
  .refine((id) => !/^0+$/.test(id));

/** A span by the JSON of OTLP: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding */
const spanSchema = z
  .strictObject({
    traceId: z
      .string()
      .regex(/^[\da-f]{32}$/)
      .refine((id) => !/^0+$/.test(id)),
    spanId,
    parentSpanId: z.optional(spanId),
    name: z.enum(["accept", "wait", "dial", "settle", "deliver"]),
    kind: z.literal([1, 2, 3]),
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
    attributes: z.array(attribute),
    status: z.strictObject({ code: z.optional(z.literal(2)) }),
  })
  .refine(({ startTimeUnixNano: from, endTimeUnixNano: to }) => BigInt(from) <= BigInt(to));
export type ReadSpan = z.infer<typeof spanSchema>;

const ours = z.strictObject({ name: z.literal("outbound-calls") });
const resource = z.strictObject({
  attributes: z.tuple([
    z.strictObject({
      key: z.literal("service.name"),
      value: z.strictObject({ stringValue: z.literal("outbound-calls") }),
    }),
  ]),
});

/** Reads the body of a request to `/v1/traces`. @throws if it is not as the specification has it */
export function readSpans(json: string): ReadSpan[] {
  const scopeSpans = z.tuple([z.strictObject({ scope: ours, spans: z.array(spanSchema).min(1) })]);
  const schema = z.strictObject({
    resourceSpans: z.tuple([z.strictObject({ resource, scopeSpans })]),
  });
  return schema.parse(JSON.parse(json)).resourceSpans[0].scopeSpans[0].spans;
}

const point = {
  attributes: z.array(attribute),
  timeUnixNano: nanos,
};
const ofHour = { ...point, startTimeUnixNano: nanos };
const count = z.string().regex(/^-?\d+$/);
const cumulative = { aggregationTemporality: z.literal(2) };
const metricSchema = z.strictObject({
  name: z.string().startsWith("outbound_calls."),
  unit: z.string(),
  gauge: z.optional(
    z.strictObject({ dataPoints: z.array(z.strictObject({ ...point, asInt: count })).min(1) }),
  ),
  sum: z.optional(
    z.strictObject({
      ...cumulative,
      isMonotonic: z.boolean(),
      dataPoints: z.array(z.strictObject({ ...ofHour, asInt: count })),
    }),
  ),
  histogram: z.optional(
    z.strictObject({
      ...cumulative,
      dataPoints: z.array(
        z.strictObject({
          ...ofHour,
          count,
          sum: z.number(),
          bucketCounts: z.tuple([count]),
          explicitBounds: z.tuple([]),
        }),
      ),
    }),
  ),
});
export type ReadMetric = z.infer<typeof metricSchema>;

/** Reads the body of a request to `/v1/metrics`. @throws if it is not as the specification has it */
export function readMetrics(json: string): ReadMetric[] {
  const scopeMetrics = z.tuple([
    z.strictObject({ scope: ours, metrics: z.array(metricSchema).min(1) }),
  ]);
  const schema = z.strictObject({
    resourceMetrics: z.tuple([z.strictObject({ resource, scopeMetrics })]),
  });
  return schema.parse(JSON.parse(json)).resourceMetrics[0].scopeMetrics[0].metrics;
}

/** Returns an attribute of a span or a point as text. */
export function attributeOf(
  { attributes }: { attributes: ReadSpan["attributes"] },
  name: string,
): string | undefined {
  const found = attributes.find(({ key }) => key === `outbound_calls.${name}`);
  return found && String(Object.values(found.value)[0]);
}
