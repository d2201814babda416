import type { Span } from "#shared/traces/otlp.ts";
import { parseTraceparent, toSpanId, toTraceparent } from "#shared/traces/trace-context.ts";
import type { DialerDeps } from "../runtime/context.ts";
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
      const { type, timestamp, data }: EventText = JSON.parse(event.body);
      const context = parseTraceparent(data.traceparent);
      if (context === undefined) return settings.postEvent(receiver, event);
      const { traceId, parentId, isSampled } = context;
      const spanId = toSpanId("deliver", event.id, receiver.name);
      const traceparent = toTraceparent(isSampled ? { ...context, parentId: spanId } : context);
      const answer = await settings.postEvent(receiver, { ...event, traceparent });
      if (!isSampled || !("status" in answer) || !(answer.status < 300)) return answer;
      add({
        traceId,
        spanId,
        parentId,
        name: "deliver",
        kind: 3,
        startAt: Date.parse(timestamp),
        endAt: clock.now(),
        attributes: {
          call_id: data.id,
          event: type,
          receiver: receiverForTelemetry(receiver.name),
        },
      });
      return answer;
    },
  };
}

/** An event's body, of our own making. */
interface EventText {
  type: string;
  timestamp: string;
  data: { id?: string; traceparent?: string };
}
