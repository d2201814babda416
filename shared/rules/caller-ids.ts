import type { Holder, KeyedAccount, Passage, Verdict, Texts, ReadFacts } from "./rule.ts";
import type { ResolvedCall, ResolvedRoute } from "./resolved-call.ts";
import type { Route } from "../calls/call-request.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";
import { countryOf } from "../telephony/phone-number.ts";

/** Names the document of the numbers from which an account calls. */
export function callerIdsKeyOf({ account }: Pick<Route, "account">): DocumentKey<"caller-ids"> {
  return { kind: "caller-ids", key: account };
}

/** Returns the numbers of a route's pool that do not rest. */
function listRested(
  { callerIds = [], ...route }: Route,
  { documents, now }: { documents: DocumentsRead; now: number },
): string[] {
  const { kind, key } = callerIdsKeyOf(route);
  const { numbers = {} } = documents.get(kind, key)?.value ?? {};
  return callerIds.filter((number) => (numbers[number]?.restsUntil ?? 0) <= now);
}

/** True if all numbers of a route's pool rest, so that its calls wait. False for a route without a pool. */
export function isPoolResting(
  route: Route,
  at: { documents: DocumentsRead; now: number },
): boolean {
  return route.callerIds !== undefined && listRested(route, at).length === 0;
}

/**
 * Returns a route of a pool with the number from which a callee is called; undefined if all numbers rest. Numbers of the
 * callee's area go first, then those of its country. Among these, each callee has a number of its own (rendezvous
 * hashing): a number that is added to the pool or leaves it, or rests, moves only its own callees.
 */
export function withCallerId(
  route: Route,
  callee: string,
  at: { documents: DocumentsRead; now: number },
): Route | undefined {
  const rested = listRested(route, at);
  const area = areaOf(callee);
  const near = area === undefined ? [] : rested.filter((number) => areaOf(number) === area);
  const country = countryOf(callee);
  const ofCountry = rested.filter((number) => countryOf(number) === country);
  const candidates = [near, ofCountry, rested].find((some) => some.length > 0) ?? [];
  const [from] = candidates.toSorted((one, other) => weigh(callee, other) - weigh(callee, one));
  if (from === undefined) return undefined;
  const { callerIds: _, ...others } = route;
  const chosen = { ...others, from };
  return chosen;
}

/** Returns the area code of a number in the North American Numbering Plan; undefined for any other number. */
function areaOf(number: string): string | undefined {
  return /^\+1(\d{3})\d{7}$/.exec(number)?.[1];
}

/** Returns the weight of a calling number for a callee: FNV-1a of both, mixed as MurmurHash3 does. */
function weigh(callee: string, number: string): number {
  let hash = 0x811c9dc5;
  for (const character of callee + number) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export function keys({ target }: KeyedAccount): DocumentKey[] {
  return target?.route.callerIds === undefined ? [] : [callerIdsKeyOf(target.route)];
}

/** Chooses the number of the route's pool from which the callee is called. The call waits while all of them rest. */
export function admit(
  { call, target }: ResolvedCall,
  { documents, now }: ReadFacts,
): Verdict | Passage | undefined {
  if (target?.route.callerIds === undefined) return undefined;
  const route = withCallerId(target.route, call.request.phone_number, { documents, now });
  return route === undefined ? { kind: "hold", reason: "caller_ids" } : { route };
}

export function stops({ route }: Pick<ResolvedRoute, "route">, at: ReadFacts): boolean {
  return isPoolResting(route, at);
}

/** A pool rests until its first number has rested. */
export function holders({ route }: ResolvedRoute, { documents, now }: ReadFacts): Holder[] {
  if (!isPoolResting(route, { documents, now })) return [];
  const { kind, key } = callerIdsKeyOf(route);
  const { numbers = {} } = documents.get(kind, key)?.value ?? {};
  const { callerIds = [], account } = route;
  const until = Math.min(...callerIds.map((number) => numbers[number]?.restsUntil ?? 0));
  return [{ reason: "caller_ids", name: account, until }];
}

export const texts: Texts = {
  caller_ids: {
    means:
      "Carriers have blocked all numbers of the agent's pool, so they rest: the call waits for one.",
    holds: (name) => `All numbers of the pool of account ${name} rest.`,
    endedBy: "provider",
  },
};
