import type { Call, Route } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { states } from "#shared/calls/states.ts";
import type { Change } from "#shared/ports/ledger.ts";
import type { DialingProvider } from "#shared/providers/provider.ts";
import type { Collector } from "#shared/traces/collector.ts";
import { encodeSpans, type Span } from "#shared/traces/otlp.ts";
import { parseTraceparent, toTraceparent } from "#shared/traces/trace-context.ts";
import type { DialerDeps } from "../runtime/context.ts";
import {
  type Claimed,
  contextOf,
  dialSpanIdOf,
  toAcceptSpan,
  toClaimSpans,
  toWaitSpans,
} from "./call-spans.ts";
import { addTimes, noteTime, type Times } from "./times.ts";
import { tracePosts } from "./trace-posts.ts";
import { withMethods } from "#shared/lib/with-methods.ts";

/** Maximum spans of one invocation: four of each row of the largest dispatch. Further ones are dropped. */
const spansMax = 400;

/** The dependencies of an invocation whose work is traced, and what sends its spans. */
export interface TracedInvocation {
  deps: DialerDeps;
  /** Sends what the invocation has gathered, by at most one request of a second. Never throws. */
  send(): Promise<void>;
}

/** Spans and times that an invocation gathers. */
interface Gathered {
  /** Claims that are not settled yet, by call. */
  claims: Map<string, Claimed>;
  times: Times;
  add(span: Span): void;
}

/** Gathers the spans of an invocation, and sends them. */
function createSpans(
  { log }: Pick<DialerDeps, "log">,
  collector: Collector,
): Pick<TracedInvocation, "send"> & Pick<Gathered, "add"> {
  const spans: Span[] = [];
  return {
    add(span) {
      if (spans.length < spansMax) spans.push(span);
    },
    async send() {
      if (spans.length === 0) return;
      const failed = await collector.post("traces", encodeSpans(spans));
      if (failed !== undefined)
        log("warning", "traces.not_sent", { count: spans.length, code: failed });
    },
  };
}

/**
 * Wraps the dependencies of a delivery of calls so that what it does becomes spans. The core knows nothing of them: a claim,
 * a settlement and the end of a call are writes of its row, and a request is one of the provider's. A span stands for a write
 * that took effect, so that a repeated delivery makes no second one.
 */
export function traceMessages(given: DialerDeps, collector: Collector): TracedInvocation {
  const { settings } = given;
  const { add, send } = createSpans(given, collector);
  const gathered: Gathered = { claims: new Map(), times: new Map(), add };
  return {
    deps: {
      ...given,
      documents: addTimes(given.documents, gathered.times),
      ledger: withMethods(given.ledger, {
        async write(changes) {
          const written = await given.ledger.write(changes);
          for (const [index, change] of changes.entries())
            if (written[index] === true) followWrite(change, gathered, given);
          return written;
        },
      }),
      settings: {
        ...settings,
        providerOf: (route) => traceDials(settings.providerOf(route), gathered, given),
      },
    },
    send,
  };
}

/**
 * Wraps the dependencies of a delivery of events so that each posted one becomes a span. Its writes of rows become none: they
 * record deliveries, in whatever state the call stands.
 */
export function traceEvents(given: DialerDeps, collector: Collector): TracedInvocation {
  const { add, send } = createSpans(given, collector);
  return { deps: { ...given, settings: { ...given.settings, ...tracePosts(add, given) } }, send };
}

/** Follows a write of a row that has taken effect. */
function followWrite(
  { next, seen }: Change,
  { claims, times, add }: Gathered,
  { clock, settings: { plan } }: Pick<DialerDeps, "clock" | "settings">,
): void {
  const context = contextOf(next);
  const claim = next.claims.at(-1);
  const isOfChain = next.ancestors.length > 0;
  if (context !== undefined && seen === null && next.first === "request" && !isOfChain)
    add(toAcceptSpan(next, context, plan));
  if (next.state === "DIALING" && claim !== undefined) {
    claims.set(next.id, { row: next, claim });
    if (next.attempt === 1 && !isOfChain && next.mode !== "test")
      noteTime(times, "dial", waitedMs(next));
    return;
  }
  const claimed = claims.get(next.id);
  claims.delete(next.id);
  if (context === undefined) return;
  if (claimed !== undefined)
    toClaimSpans(claimed, { next, context, at: clock.now() }, plan).forEach(add);
  // The call has ended without a claim.
  else if (claim === undefined && !states[next.state].open)
    toWaitSpans(next, { context }, plan).forEach(add);
}

/** Returns the time from a call's acceptance, or from the time that its client named, to its claim. */
function waitedMs({ claimedAt, acceptedAt, notBefore }: CallRow): number {
  return (claimedAt ?? acceptedAt) - Math.max(acceptedAt, notBefore ?? 0);
}

/** Wraps a provider's requests: they are timed, and a webhook gets the `traceparent` of the request's span. */
function traceDials(
  provider: DialingProvider<Route>,
  { claims, times }: Pick<Gathered, "claims" | "times">,
  { clock }: Pick<DialerDeps, "clock">,
): DialingProvider<Route> {
  return withMethods(provider, {
    async dial(request, route) {
      const claimed = claims.get(request.call.id);
      const traceparent =
        route.provider === "webhook" ? toOwnTraceparent(request.call, claimed) : undefined;
      const guarded: typeof request.guarded = (send, secondsMax) =>
        request.guarded(
          (url, { headers, ...sent }) =>
            send(url, { ...sent, headers: { ...headers, ...(traceparent && { traceparent }) } }),
          secondsMax,
        );
      const sentAt = clock.now();
      const outcome = await provider.dial({ ...request, guarded }, route);
      const answeredAt = clock.now();
      if (request.call.mode !== "test") noteTime(times, "answer", answeredAt - sentAt);
      if (claimed !== undefined) claimed.request = { sentAt, answeredAt, outcome };
      return outcome;
    },
  });
}

/** Returns the `traceparent` of a call's request: its parent is the request's span, where spans of the call are sent. */
function toOwnTraceparent({ traceparent }: Call, claimed: Claimed | undefined): string | undefined {
  const context = parseTraceparent(traceparent);
  if (context?.isSampled !== true || claimed === undefined) return traceparent;
  return toTraceparent({ ...context, parentId: dialSpanIdOf(claimed) });
}
