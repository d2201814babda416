import type { CallRow } from "#shared/calls/call-row.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import type { Attributes, Span } from "#shared/traces/otlp.ts";
import {
  acceptSpanIdOf,
  parseTraceparent,
  toSpanId,
  type TraceContext,
} from "#shared/traces/trace-context.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { agentForTelemetry } from "../runtime/telemetry-names.ts";

type Plan = DialerDeps["settings"]["plan"];

/** A claim of this invocation, and its request once that was answered. */
export interface Claimed {
  /** The row as claimed. */
  row: CallRow;
  claim: string;
  request?: { sentAt: number; answeredAt: number; outcome: DialOutcome };
}

/** Returns the context of a row's request, if its spans are sent. */
export function contextOf({ traceparent }: CallRow): TraceContext | undefined {
  const context = parseTraceparent(traceparent);
  return context?.isSampled === true ? context : undefined;
}

/** Returns the id of the span of a claim's request. */
export function dialSpanIdOf({ row, claim }: Pick<Claimed, "row" | "claim">): string {
  return toSpanId("dial", row.id, claim);
}

/** Returns the span of a request's acceptance: from then until its first call has a row. */
export function toAcceptSpan(row: CallRow, { traceId, parentId }: TraceContext, plan: Plan): Span {
  const spanId = acceptSpanIdOf(requestIdOf(row.id));
  return {
    traceId,
    spanId,
    // Without a caller's span it is the trace's root.
    parentId: parentId === spanId ? undefined : parentId,
    name: "accept",
    kind: 2,
    startAt: row.acceptedAt,
    endAt: row.updatedAt,
    attributes: { ...attributesOf(row, plan), calls: row.batchCalls },
  };
}

/** Returns the span of a row's last wait, until its claim or, without one, its end; none if it did not wait. */
export function toWaitSpans(
  row: CallRow,
  { context, claim = "" }: { context: TraceContext; claim?: string },
  plan: Plan,
): Span[] {
  const before = row.history.slice(0, -1);
  const last = before.at(-1);
  const first = before[before.findLastIndex(({ state }) => state !== "WAITING") + 1];
  if (first === undefined || last === undefined) return [];
  const { traceId, parentId } = context;
  return [
    {
      traceId,
      parentId,
      spanId: toSpanId("wait", row.id, claim),
      name: "wait",
      kind: 1,
      startAt: first.at,
      endAt: row.updatedAt,
      attributes: { ...attributesOf(row, plan), reason: last.reason },
    },
  ];
}

/** Returns the spans of a claim whose settlement was written at `at`: the wait before it, its request, and the settlement. */
export function toClaimSpans(
  { row, claim, request }: Claimed,
  { next, context, at }: { next: CallRow; context: TraceContext; at: number },
  plan: Plan,
): Span[] {
  const { state, reason } = next;
  const { route, attempt } = row;
  const { traceId, parentId } = context;
  const along = {
    ...attributesOf(row, plan),
    attempt,
    account: route?.account,
    provider: route?.provider,
  };
  const settle: Span = {
    traceId,
    parentId,
    spanId: toSpanId("settle", row.id, claim),
    name: "settle",
    kind: 1,
    startAt: request?.answeredAt ?? row.claimedAt ?? at,
    endAt: at,
    isError: state === "UNKNOWN" || state === "NEEDS_REVIEW",
    attributes: { ...along, state, reason },
  };
  const waits = toWaitSpans(row, { context, claim }, plan);
  if (request === undefined) return [...waits, settle];
  const dial: Span = {
    traceId,
    parentId,
    spanId: dialSpanIdOf({ row, claim }),
    name: "dial",
    kind: 3,
    startAt: request.sentAt,
    endAt: request.answeredAt,
    isError: request.outcome.kind !== "placed",
    attributes: { ...along, outcome: request.outcome.kind },
  };
  return [...waits, dial, settle];
}

/** Returns the attributes that every span of a call has. */
function attributesOf({ id, client, agentId, mode }: CallRow, plan: Plan): Attributes {
  return {
    call_id: id,
    request_id: requestIdOf(id),
    client,
    agent_id: agentForTelemetry(agentId, plan),
    test: mode === "test" ? true : undefined,
  };
}
