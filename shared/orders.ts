import { createHmac } from "node:crypto";
import type { Call } from "./call.ts";
import type { CallLedger, Order } from "./ledger/call-ledger.ts";
import type { Route } from "./providers/index.ts";

/** What an operator may hold: an agent's calls, or an account's of the dial plan's `providers`. */
export type Holdable = { agent: string } | { account: string };
/** What an operator may cancel the waiting calls of. */
export type Cancellable = { agent: string } | { request: string };

/** What the names of all holds begin with, and no other order's. */
export const holdPrefix = "hold ";

/** The order that holds them; also the line in which their calls wait meanwhile. */
export function holdOrderOf(what: Holdable): string {
  return holdPrefix + ("agent" in what ? `agent ${what.agent}` : `account ${what.account}`);
}

export function cancelOrderOf(what: Cancellable): string {
  return "agent" in what ? `cancel agent ${what.agent}` : `cancel request ${what.request}`;
}

/** Whether a line is that of an operator's hold, and not of an account's pace. */
export function isHoldLine(line: string): boolean {
  return line.startsWith(holdPrefix);
}

/** Names of the orders that may cancel these calls. */
export function cancelNamesOf(calls: readonly Call[]): string[] {
  const names = calls.flatMap(({ requestId, request }) => [
    cancelOrderOf({ request: requestId }),
    cancelOrderOf({ agent: request.agent_id }),
  ]);
  return [...new Set(names)];
}

/** Whether an operator has cancelled a call, by its request or, up to the order's time, its agent. */
export function isCancelled(
  { requestId, acceptedAt, request: { agent_id: agent } }: Call,
  orders: readonly Order[],
): boolean {
  if (orders.length === 0) return false; // as a rule
  const names = new Set([cancelOrderOf({ request: requestId }), cancelOrderOf({ agent })]);
  return orders.some(({ name, at }) => names.has(name) && acceptedAt <= at);
}

/** The operator's order that keeps a call waiting. */
export function holdingOrder(
  { request: { agent_id: agent } }: Call,
  { provider: account }: Route,
  orders: readonly Order[],
): Order | undefined {
  if (orders.length === 0) return undefined;
  const names = new Set([holdOrderOf({ agent }), holdOrderOf({ account })]);
  return orders.find(({ name }) => names.has(name));
}

/**
 * Entries of the do-not-call list that are no numbers: that there is one, and that it was made under this HASH_KEY.
 * Under another key every number's hash is another, and nobody on the list would be recognised.
 */
export function listMarks(hashKey: string): { any: string; own: string } {
  const digest = createHmac("sha256", hashKey).update("do-not-call").digest("hex");
  return { any: "list", own: `list ${digest}` };
}

/**
 * Those of the hashed numbers that are never to be called.
 *
 * @throws where the list was made under another HASH_KEY, or cannot be read
 */
export async function neverCalled(
  numberHashes: string[],
  ledger: Pick<CallLedger, "doNotCall">,
  hashKey: string,
): Promise<Set<string>> {
  const { any, own } = listMarks(hashKey);
  const found = await ledger.doNotCall([...numberHashes, any, own]);
  if (found.has(any) && !found.has(own)) {
    throw new Error("the do-not-call list was made under another HASH_KEY");
  }
  return found;
}
