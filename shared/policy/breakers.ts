import { createHash } from "node:crypto";
import { backlogOf, type CallRow } from "../calls/call-row.ts";
import { accountNameOf, type Route } from "../calls/call-request.ts";
import type { DocumentKey, DocumentsRead, StoredDocument } from "../ports/document-kinds.ts";

export type BreakerDocument = StoredDocument<"breaker">;

/** The client and the agent whose calls a breaker is about. */
export type BacklogOf = Pick<CallRow, "client" | "agentId">;

export function accountBreakerOf(account: string): string {
  return `account:${account}`;
}

export function backlogBreakerOf(of: BacklogOf): string {
  return `backlog:${backlogOf(of)}`;
}

/** Names the breaker of a receiver of events. */
export function receiverBreakerOf(receiver: string): string {
  return `receiver:${receiver}`;
}

/** Names the counts of a backlog's refusals by code. Its unanswered requests are counted under its breaker's key. */
export function refusalsOf(of: BacklogOf): string {
  return `${backlogBreakerOf(of)} refusals`;
}

/** Names the count of an agent's alarms: all its backlogs wait for the same reason, and one alarm tells it. */
export function agentAlarmsOf({ agentId }: Pick<BacklogOf, "agentId">): string {
  return `agent:${agentId} alarms`;
}

/** Names the note of the last time at which a call of an agent was placed, which lives for an hour. */
export function agentSeenOf({ agentId }: Pick<BacklogOf, "agentId">): string {
  return `agent:${agentId} seen`;
}

/** Begin of the counters of refused countries, which stand beside those of codes. */
const inCountry = "in ";

/** Names the counters of a refusal: its code, and its number's country (ISO 3166-1) if it has one. */
export function refusalCountersOf(code: string, country: string | undefined): string[] {
  return country === undefined ? [code] : [code, `${inCountry}${country}`];
}

/** Parts the counters of a backlog's refusals into those by code and those by country. */
export function readRefusals(counters: Record<string, number>) {
  const refusals: Record<string, number> = {};
  const countries: Record<string, number> = {};
  for (const [name, count] of Object.entries(counters)) {
    if (name.startsWith(inCountry)) countries[name.slice(inCountry.length)] = count;
    else refusals[name] = count;
  }
  return { refusals, countries };
}

/** Names the breakers that a call must pass: its account's first. */
export function breakerNamesOf(of: BacklogOf, route: Route): string[] {
  return [accountBreakerOf(accountNameOf(route)), backlogBreakerOf(of)];
}

/** Names the breakers that a call must pass, and the failure counts of its account and backlog. */
export function breakerKeysOf(of: BacklogOf, route: Route): DocumentKey[] {
  const names = breakerNamesOf(of, route);
  return [
    ...names.map((key) => ({ kind: "breaker", key }) as const),
    ...[...names, refusalsOf(of)].map((key) => ({ kind: "failures", key }) as const),
  ];
}

/** Returns the open breakers among those that a call must pass. */
export function listOpenBreakers(
  of: BacklogOf,
  route: Route,
  documents: DocumentsRead,
): BreakerDocument[] {
  return listNotClosedBreakers(of, route, documents).filter(({ value }) => value.state === "open");
}

/** Returns the breakers that are open or half-open among those that a call must pass. */
export function listNotClosedBreakers(
  of: BacklogOf,
  route: Route,
  documents: DocumentsRead,
): BreakerDocument[] {
  return breakerNamesOf(of, route).flatMap((name) => {
    const breaker = documents.get("breaker", name);
    return breaker === undefined || breaker.value.state === "closed" ? [] : breaker;
  });
}

/** Maximum backlogs that are probed for an open account's sake without waiting for its interval. */
const blamedMax = 30;

/** Names a backlog in few bytes, in lists of those that have failed. */
export function shortNameOf(backlog: string): string {
  return createHash("sha256").update(backlog).digest("hex").slice(0, 12);
}

/**
 * True if a call may be the probe of an open breaker. An account's breaker is also probed at once by a backlog that has
 * not failed since the account was last answered: its calls may well be taken.
 *
 * @param by the latest time of the probe, in milliseconds since the epoch
 */
export function mayProbe({ key, value }: BreakerDocument, of: BacklogOf, by: number): boolean {
  if (value.probeAt <= by) return true;
  const { cause, blamed } = value;
  if (!key.startsWith("account:") || cause !== "unreachable" || blamed.length >= blamedMax)
    return false;
  return !blamed.includes(shortNameOf(backlogOf(of)));
}
