import { joinIndexSets } from "../calls/index-set.ts";
import type { CancellationOrder, DocumentKey, ValueOf } from "../ports/document-kinds.ts";

/** The target of a cancellation: the waiting calls of an agent or of a request. */
export type Cancellable = ValueOf<"cancellation">["of"];

/** Names the document of a cancellation. */
export function cancellationKeyOf(what: Cancellable): DocumentKey<"cancellation"> {
  const name = "agent" in what ? ["agent", what.agent] : ["request", what.request];
  return { kind: "cancellation", key: JSON.stringify(name) };
}

/** Groups cancellations by the document that has their orders. */
export function byDocument<Given extends { of: Cancellable }>(
  given: readonly Given[],
): [DocumentKey<"cancellation">, Given[]][] {
  const byKey = Map.groupBy(given, ({ of }) => cancellationKeyOf(of).key);
  return [...byKey].map(([key, own]) => [{ kind: "cancellation", key }, own]);
}

/** The orders among which one is unique: for all calls of a request, or for named ones, of one client. */
type Scope = Pick<CancellationOrder, "client" | "indexes">;

/** Returns the order of the same client that is for all calls, or for named ones, as the scope is. */
export function orderIn(
  orders: readonly CancellationOrder[],
  { client, indexes }: Scope,
): CancellationOrder | undefined {
  return orders.find(
    (one) => one.client === client && (one.indexes === null) === (indexes === null),
  );
}

/**
 * Adds an order to those of a document, which has at most two of a client: one for all calls of the request, and one for named
 * calls.
 */
export function withOrder(
  orders: readonly CancellationOrder[],
  order: CancellationOrder,
): CancellationOrder[] {
  const earlier = orderIn(orders, order);
  if (earlier === undefined) return [...orders, order];
  const latest = earlier.at > order.at ? earlier : order;
  const indexes =
    earlier.indexes === null || order.indexes === null
      ? null
      : joinIndexSets(earlier.indexes, order.indexes);
  return orders.map((one) => (one === earlier ? { ...latest, indexes } : one));
}
