import type { Span } from "#shared/traces/otlp.ts";
import {
  parseTraceparent,
  toSpanId,
  toTraceparent,
  type TraceContext,
} from "#shared/traces/trace-context.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { PostedEvent } from "../runtime/post-event.ts";
import { receiverForTelemetry } from "../runtime/telemetry-names.ts";

/**
 * Wraps the posting of events: a receiver gets the `traceparent` of the delivery's span, and a delivered event is a span,
 * from what happened to the receiver's answer. All tries of an event are one span, as an event is delivered once.
 */
export function tracePosts(
  add: (span: Span) => void,
  { settings, clock }: Pick<DialerDeps, "settings" | "clock">,
): Pick<DialerDeps["settings"], "postEvent"> {
  return {
    async postEvent(receiver, event) {
      const { context, ...of } = readBody(event);
      if (context === undefined) return settings.postEvent(receiver, event);
      const { traceId, parentId, isSampled } = context;
      const spanId = toSpanId("deliver", event.id, receiver.name);
      const traceparent = toTraceparent(isSampled ? { ...context, parentId: spanId } : context);
      const answer = await settings.postEvent(receiver, { ...event, traceparent });
      if (!isSampled || !("status" in answer) || !(answer.status < 300)) return answer;
      const endAt = clock.now();
      add({
        traceId,
        spanId,
        parentId,
        name: "deliver",
        kind: 3,
        startAt: Math.min(of.at ?? endAt, endAt),
        endAt,
        attributes: {
          call_id: of.id,
          event: of.type,
          receiver: receiverForTelemetry(receiver.name),
        },
      });
      return answer;
    },
  };
}

/** Returns what an event's body says of it. `context` is undefined if its request has no trace. */
function readBody({ body }: PostedEvent): {
  context: TraceContext | undefined;
  id: string;
  type: string;
  at: number | undefined;
} {
  const { type, timestamp, data = {} }: Partial<EventText> = JSON.parse(body);
  const at = Date.parse(timestamp ?? "");
  return {
    context: parseTraceparent(data.traceparent),
    id: data.id ?? "",
    type: type ?? "",
    at: Number.isNaN(at) ? undefined : at,
  };
}

/** An event's body, of our own making. */
interface EventText {
  type: string;
  timestamp: string;
  data: { id?: string; traceparent?: string };
}
