import type { ReadFacts, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";
import type { Call } from "../calls/call-request.ts";
import { indexOf, requestIdOf } from "../calls/ids.ts";
import { hasIndex } from "../calls/index-set.ts";
import type { CancellationOrder, DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";
import { type Cancellable, cancellationKeyOf } from "../policy/cancellation-orders.ts";

/**
 * Maximum time from an order to the acceptance of a call that it ends, by how the order names the call. The two times
 * come from clocks that may differ.
 *
 * - `request`: the order names the call's request, so it ends the call whenever it was accepted. A repeat under an
 * Idempotency-Key renews that time up to a day later.
 * - `redialed`: the order names the request of a call that this one replaces. A redial more than 10 s after the order
 * is deliberate.
 * - `agent`: the order does not end calls that were posted after it.
 */
const acceptedAfterMsMax = { request: Infinity, redialed: 10_000, agent: 0 };

/** An order, and how it names the call. */
export interface GivenOrder {
  order: CancellationOrder;
  as: keyof typeof acceptedAfterMsMax;
}

/** True if an order ends a call: it covers the call's client and index, and the call was accepted in time. */
export function isCovered(
  { id, client, acceptedAt }: Pick<Call, "id" | "client" | "acceptedAt">,
  { order, as }: GivenOrder,
): boolean {
  return (
    acceptedAt <= order.at + acceptedAfterMsMax[as] &&
    (order.client === null || order.client === client) &&
    (order.indexes === null || hasIndex(order.indexes, indexOf(id)))
  );
}

/**
 * Returns who has cancelled a call, by its agent or request; undefined if nobody has. A cancellation of a request
 * also cancels redials of its calls.
 */
function findCancellation(call: Call, documents: DocumentsRead): "operator" | "client" | undefined {
  const { id, client, acceptedAt, ancestors = [], request } = call;
  const controlsOn = (what: Cancellable, ofCall: string, as: GivenOrder["as"]) => {
    const { kind, key } = cancellationKeyOf(what);
    const { orders = [] } = documents.get(kind, key)?.value ?? {};
    return orders.filter((order) => isCovered({ id: ofCall, client, acceptedAt }, { order, as }));
  };
  const orders = [
    ...controlsOn({ agent: request.agent_id }, id, "agent"),
    ...controlsOn({ request: requestIdOf(id) }, id, "request"),
    ...ancestors.flatMap((one) => controlsOn({ request: requestIdOf(one) }, one, "redialed")),
  ];
  if (orders.length === 0) return undefined;
  return orders.some((order) => order.client === null) ? "operator" : "client";
}

/** Names the documents of orders on requests of which no call was read whole. */
export function requestKeys(requestIds: Iterable<string>): DocumentKey[] {
  return [...requestIds].map((request) => cancellationKeyOf({ request }));
}

/**
 * Names the documents of all cancellations that may end a call: of its agent, its request and its ancestors'
 * requests.
 */
export function keys({ call }: Pick<ResolvedCall, "call">): DocumentKey[] {
  const { requestId, ancestors = [], request } = call;
  const requests = [requestId, ...ancestors.map(requestIdOf)];
  return [cancellationKeyOf({ agent: request.agent_id }), ...requestKeys(requests)];
}

/** An operator or the client has cancelled the call, by its agent or its request. */
export function admit(
  { call }: ResolvedCall,
  { documents }: Pick<ReadFacts, "documents">,
): Verdict | undefined {
  const reason = findCancellation(call, documents);
  return reason === undefined ? undefined : { kind: "end", state: "CANCELLED", reason };
}

export const texts: Texts = {
  client: { means: "The client that posted the call has cancelled it." },
};
