import { createHash } from "node:crypto";
import { backlogOf, type ClientAgent } from "../calls/call-row.ts";
import type { DocumentKey, DocumentsRead, StoredDocument } from "../ports/document-kinds.ts";

export type BreakerDocument = StoredDocument<"breaker">;

export function accountBreakerOf(account: string): string {
  return `account:${account}`;
}

export function backlogBreakerOf(of: ClientAgent): string {
  return `backlog:${backlogOf(of)}`;
}

/** True for the breaker of a test client's account or backlog, of which no operator is alarmed. */
export function isTestBreaker(key: string): boolean {
  return key.startsWith(accountBreakerOf("test:")) || key.startsWith('backlog:["test:');
}

/** Names the breaker of a receiver of events. */
export function receiverBreakerOf(receiver: string): string {
  return `receiver:${receiver}`;
}

/** Names the counters of a backlog's refusals by code. Unanswered requests are counted under the breaker's key. */
export function refusalsOf(of: ClientAgent): string {
  return `${backlogBreakerOf(of)} refusals`;
}

/** Names the counter of an agent's alarms. All backlogs of a refused agent wait, and one alarm is enough. */
export function agentAlarmsOf({ agentId }: Pick<ClientAgent, "agentId">): string {
  return `agent:${agentId} alarms`;
}

/** Names the note that a call of the agent was placed within the hour. */
export function agentSeenOf({ agentId }: Pick<ClientAgent, "agentId">): string {
  return `agent:${agentId} seen`;
}

/** Prefix of the counters of refused countries. */
const inCountry = "in ";

/** Names the counters of a refusal: its code, and its number's country (ISO 3166-1) if it has one. */
export function refusalCountersOf(code: string, country: string | undefined): string[] {
  return country === undefined ? [code] : [code, `${inCountry}${country}`];
}

/** Code of a breaker that opens as the provider blames number after number. */
export const numbersBlamed = "numbers_blamed";

/** Prefix of the counters of blamed numbers, one for each. */
const ofNumber = "number ";

/** Names the counter of a number that the provider blames, by the end of its keyed hash. */
export function blamedCounterOf(numberHash: string): string {
  return `${ofNumber}${numberHash.slice(-12)}`;
}

/** Returns the counters of blamed numbers among those of a backlog's refusals. */
export function blamedNumbersIn(counters: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counters).filter(([name]) => name.startsWith(ofNumber)));
}

/** Divides the counters of a backlog's refusals: by code, by country, and the count of different numbers blamed. */
export function readRefusals(counters: Record<string, number>) {
  const refusals: Record<string, number> = {};
  const countries: Record<string, number> = {};
  let numbers = 0;
  for (const [name, count] of Object.entries(counters)) {
    if (name.startsWith(inCountry)) countries[name.slice(inCountry.length)] = count;
    else if (name.startsWith(ofNumber)) numbers += 1;
    else refusals[name] = count;
  }
  return { refusals, countries, numbers };
}

/** Names the breakers that a call of an account and a backlog must pass, its account's first. */
export function breakerNamesOf(of: ClientAgent, { account }: { account: string }): string[] {
  return [accountBreakerOf(account), backlogBreakerOf(of)];
}

/** Names the failure counts of breakers, and those of a backlog's refusals. */
export function failureKeysOf(of: ClientAgent, names: readonly string[]): DocumentKey[] {
  return [...names, refusalsOf(of)].map((key) => ({ kind: "counters", key }));
}

/** Returns the open breakers among those of these names, which a call must pass. */
export function listOpenBreakers(
  names: readonly string[],
  documents: DocumentsRead,
): BreakerDocument[] {
  return listNotClosedBreakers(names, documents).filter(({ value }) => value.state === "open");
}

/** Returns the open and half-open breakers among those of these names. */
export function listNotClosedBreakers(
  names: readonly string[],
  documents: DocumentsRead,
): BreakerDocument[] {
  return names.flatMap((name) => {
    const breaker = documents.get("breaker", name);
    return breaker === undefined || breaker.value.state === "closed" ? [] : breaker;
  });
}

/** Maximum backlogs that may probe an open account's breaker before its interval ends. */
const blamedMax = 30;

/** Shortens a backlog's name, for lists of failing backlogs. */
export function shortNameOf(backlog: string): string {
  return createHash("sha256").update(backlog).digest("hex").slice(0, 12);
}

/**
 * True if a call may be the probe of an open breaker. A backlog that has not failed since the account last answered
 * may probe the account's breaker at once, as its calls may well succeed.
 *
 * @param by the latest time of the probe, in milliseconds since the epoch
 */
export function mayProbe({ key, value }: BreakerDocument, of: ClientAgent, by: number): boolean {
  if (value.probeAt <= by) return true;
  const { cause, blamed } = value;
  if (!key.startsWith("account:") || cause !== "unreachable" || blamed.length >= blamedMax)
    return false;
  return !blamed.includes(shortNameOf(backlogOf(of)));
}
