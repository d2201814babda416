import { backlogOf } from "../../../shared/calls/call-row.ts";
import type { Route } from "../../../shared/calls/call-request.ts";
import { type ClientAgent, listNotClosedBreakers } from "../../../shared/policy/breakers.ts";
import { isLedgerSuspended } from "../../../shared/policy/controls.ts";
import type { ResolvedRoute } from "../../../shared/rules/resolved-call.ts";
import type { DocumentsRead } from "../../../shared/ports/document-kinds.ts";
import { callerIdsKeyOf, isPoolResting } from "../../../shared/rules/caller-ids.ts";

/** A pause, a breaker or the like, which keeps all calls of a client and agent waiting. */
export interface Holder {
  /** As in a row: `restored`, `paused`, `breaker_open`, `caller_ids`. */
  reason: string;
  /** The pause's `agent X` or `account X`, the key of the breaker, the account of the pool; empty after a restore. */
  name: string;
  /** Time at which it ends by itself, in milliseconds since the epoch. Null: somebody must act, or a provider recover. */
  until: number | null;
}

/** Returns what holds the calls of an agent along a route; undefined if nothing does. */
export type HolderOf = (of: ClientAgent, target: ResolvedRoute) => Holder | undefined;

/** Returns a function that tells what holds calls, and remembers its answers. */
export function createHolders(documents: DocumentsRead, now: number): HolderOf {
  const isRestored = isLedgerSuspended(documents, 0);
  const known = new Map<string, Holder | undefined>();
  return (of, target) => {
    if (isRestored) return { reason: "restored", name: "", until: null };
    const key = backlogOf(of);
    if (!known.has(key)) known.set(key, longestOf(listHolders(target, { documents, now })));
    return known.get(key);
  };
}

function listHolders(
  { route, account, breakers: names, pauses: pauseKeys }: ResolvedRoute,
  { documents, now }: { documents: DocumentsRead; now: number },
): Holder[] {
  const pauses = pauseKeys.flatMap(({ kind, key }): Holder[] => {
    const pause = documents.get(kind, key)?.value;
    if (pause === undefined) return [];
    const [name = ""] = Object.entries(pause.of).map((words) => words.join(" "));
    const { until = null } = pause;
    return [{ reason: "paused", name, until }];
  });
  // Half-open, an account that answers quickly soon is as fast as before.
  const isQuick = documents.get("account", account.name)?.value.quick === true;
  const breakers = listNotClosedBreakers(names, documents).flatMap(({ key, value }): Holder[] =>
    value.state === "half_open" && isQuick
      ? []
      : [{ reason: "breaker_open", name: key, until: null }],
  );
  const held = [...pauses, ...breakers].filter(({ until }) => until === null || until > now);
  if (!isPoolResting(route, { documents, now })) return held;
  return [
    ...held,
    { reason: "caller_ids", name: route.provider, until: restedAt(route, documents) },
  ];
}

/** Returns the time at which the first number of a pool has rested. */
function restedAt(route: Route, documents: DocumentsRead): number {
  const { kind, key } = callerIdsKeyOf(route);
  const { numbers = {} } = documents.get(kind, key)?.value ?? {};
  const { callerIds = [] } = route;
  return Math.min(...callerIds.map((number) => numbers[number]?.restsUntil ?? 0));
}

/** Returns the holder that lasts longest. */
function longestOf(holders: readonly Holder[]): Holder | undefined {
  const endOf = ({ until }: Holder) => until ?? Infinity;
  return holders.reduce<Holder | undefined>(
    (longest, one) => (longest !== undefined && endOf(longest) >= endOf(one) ? longest : one),
    undefined,
  );
}
