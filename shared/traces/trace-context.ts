/**
 * Trace contexts by W3C Trace Context (https://www.w3.org/TR/trace-context/#traceparent-header), version 00:
 * `00-<trace id>-<id of the parent span>-<flags>`, of whose flags only the first is known: 01, sampled.
 */
import { hash } from "node:crypto";

/** The parts of a `traceparent`. */
export interface TraceContext {
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits: the caller's span, or that of the acceptance where the caller had none. */
  parentId: string;
  /** True if spans of the trace are sent. */
  isSampled: boolean;
}

/** Its ids are not all zeros, and the last digit of its flags says whether it is sampled. */
const traceparentPattern = /^00-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]([\da-f])$/;

/** Parses a `traceparent`. Undefined: it is malformed, or of a version that this one does not know. */
export function parseTraceparent(text = ""): TraceContext | undefined {
  const [, traceId, parentId, flags = ""] = traceparentPattern.exec(text) ?? [];
  if (traceId === undefined || parentId === undefined) return undefined;
  return { traceId, parentId, isSampled: "13579bdf".includes(flags) };
}

export function toTraceparent({ traceId, parentId, isSampled }: TraceContext): string {
  return `00-${traceId}-${parentId}-${isSampled ? "01" : "00"}`;
}

/** Steps of a call that have a span. */
export type SpanStep = "accept" | "wait" | "dial" | "settle" | "deliver";

/** Returns the id of a span, the same whenever it is made. `of`: what the step belongs to, such as a call and a claim. */
export function toSpanId(step: SpanStep, ...of: string[]): string {
  return hash("sha256", JSON.stringify(["span", step, ...of])).slice(0, 16);
}

/** Returns the id of the span of a request's acceptance. */
export function acceptSpanIdOf(requestId: string): string {
  return toSpanId("accept", requestId);
}

/**
 * Chooses the `traceparent` of an accepted request. A caller's own is kept, and is sampled only if the caller says so and
 * the draw does; without one, or with a malformed one, the request has a trace of its own if the draw says so.
 *
 * The draw depends on the request's id, which no caller chooses: by a trace id a caller could choose to be sampled.
 *
 * @param share share of the requests that may be sampled, above 0, at most 1
 * @returns undefined if the request has no trace
 */
export function chooseTraceparent(
  header: string | undefined,
  { requestId, share }: { requestId: string; share: number },
): string | undefined {
  const isDrawn = fractionOf(requestId) < share;
  const own = parseTraceparent(header);
  if (own !== undefined) return toTraceparent({ ...own, isSampled: own.isSampled && isDrawn });
  if (!isDrawn) return undefined;
  const traceId = digestOf("trace", requestId).slice(0, 32);
  return toTraceparent({ traceId, parentId: acceptSpanIdOf(requestId), isSampled: true });
}

/** Returns a number from 0 up to 1, by 48 bits of a hash. */
function fractionOf(requestId: string): number {
  return Number.parseInt(digestOf("sample", requestId).slice(0, 12), 16) / 2 ** 48;
}

function digestOf(purpose: string, requestId: string): string {
  return hash("sha256", `${purpose} ${requestId}`);
}
