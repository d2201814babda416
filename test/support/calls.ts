import type { Call } from "../../shared/calls/call.ts";
import { callIdOf, createRequestId } from "../../shared/calls/ids.ts";
import { randomId } from "../../shared/platform/random-id.ts";

let madeOfGivenRequests = 0;

/** A request's id as the API makes them. */
export function aRequestId(at = 1_000_000): string {
  return createRequestId(at, randomId());
}

/** A call of its own id, with every field there is; of a request that is given, one with an index of its own. */
export function aCall(more: Partial<Call> = {}): Call {
  const { acceptedAt = 1_000_000, requestId = aRequestId(acceptedAt) } = more;
  const index = more.requestId === undefined ? 0 : madeOfGivenRequests++ % 100_000;
  return {
    id: callIdOf(requestId, index),
    requestId,
    client: "crm",
    acceptedAt,
    request: {
      phone_number: "+12025550123",
      agent_id: "agent_sales",
      context: { name: 'Zoë "Z" O’Neil\n</Stream> \u0000 😀' },
      timezone: "America/New_York",
    },
    ...more,
  };
}
