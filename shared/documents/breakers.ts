import { createHash } from "node:crypto";
import type { DocumentKey, DocumentsRead, StoredDocument } from "./documents.ts";
import { accountNameOf, type Route } from "../providers/index.ts";

export type BreakerDocument = StoredDocument<"breaker">;

/** Names the breakers that a call of an agent along a route must pass, the account's first. */
function breakerNamesOf(agentId: string, route: Route): string[] {
  return [accountBreakerOf(route), routeBreakerOf(route), agentBreakerOf(agentId)];
}

export function accountBreakerOf(route: Route): string {
  return `account:${accountNameOf(route)}`;
}

/**
 * Names a route's breaker by a hash of the route's fields: a corrected plan gets another name, so its breaker
 * starts closed.
 */
export function routeBreakerOf(route: Route): string {
  const known = routeBreakers.get(route);
  if (known !== undefined) return known;
  const name = `route:${createHash("sha256").update(JSON.stringify(route)).digest("hex").slice(0, 16)}`;
  routeBreakers.set(route, name);
  return name;
}

/** Names already computed: a plan's routes are few and never change, and every decision on a call asks for one. */
const routeBreakers = new WeakMap<Route, string>();

export function agentBreakerOf(agentId: string): string {
  return `agent:${agentId}`;
}

/** Names the breaker of a receiver of events. */
export function receiverBreakerOf(receiver: string): string {
  return `receiver:${receiver}`;
}

/** Names the breakers that a call must pass, and the failure counts of its account and agent. */
export function breakerKeysOf(agentId: string, route: Route): DocumentKey[] {
  const names = breakerNamesOf(agentId, route);
  return [
    ...names.map((key) => ({ kind: "breaker", key }) as const),
    { kind: "failures", key: accountBreakerOf(route) },
    { kind: "failures", key: agentBreakerOf(agentId) },
  ];
}

/** Returns the open breakers among those that a call must pass. */
export function openBreakers(
  agentId: string,
  route: Route,
  documents: DocumentsRead,
): BreakerDocument[] {
  return breakerNamesOf(agentId, route).flatMap((name) => {
    const breaker = documents.get("breaker", name);
    return breaker?.value.state === "open" ? breaker : [];
  });
}
