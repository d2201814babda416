import type { Call } from "#shared/calls/call-request.ts";
import { toCallId, createRequestId, indexOf, modeOf } from "#shared/calls/ids.ts";
import { markAccepted } from "#shared/calls/issued-ids.ts";
import { randomId } from "#shared/lib/random.ts";
import { apiEnvironment } from "./environment.ts";
import type { CallsMessage } from "#shared/ports/call-messages.ts";

let madeOfGivenRequests = 0;

/** Returns a request's id, made like the API's. */
export function aRequestId(at = 1_000_000): string {
  return acceptedId(createRequestId(at, randomId()));
}

/** Returns an id as the API gives it to a request that it accepts. A changed number of calls needs it again. */
export function acceptedId(requestId: string): string {
  return markAccepted(requestId, apiEnvironment.HASH_KEY);
}

/** Returns a call with an id of its own and every field. If the request is given, it has an index of its own there. */
export function aCall(more: Partial<Call> = {}): Call {
  const { acceptedAt = 1_000_000, requestId = aRequestId(acceptedAt), client = "crm" } = more;
  const index = more.requestId === undefined ? 0 : madeOfGivenRequests++ % 100_000;
  return {
    id: toCallId(requestId, index),
    requestId,
    batchCalls: 1,
    client,
    acceptedAt,
    request: {
      phone_number: "+12025550123",
      agent_id: "agent_sales",
      context: { name: 'Zoë "Z" O’Neil\n</Stream> \u0000 😀' },
      timezone: "America/New_York",
    },
    ...more,
    mode: modeOf(client),
  };
}

/** Composes the message that carries all these calls of one request. */
export function toCallsMessage(calls: readonly [Call, ...Call[]]): CallsMessage {
  const [
    { requestId, client, mode, acceptedAt, ancestors, notBefore, urgent, labels, traceparent },
  ] = calls;
  return {
    kind: "calls",
    requestId,
    client,
    mode,
    acceptedAt,
    ...(notBefore === undefined ? {} : { notBefore }),
    ...(urgent === undefined ? {} : { urgent }),
    ...(labels === undefined ? {} : { labels }),
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(ancestors === undefined ? {} : { ancestors }),
    calls: calls.map(({ id, request }) => ({ index: indexOf(id), request })),
  };
}
