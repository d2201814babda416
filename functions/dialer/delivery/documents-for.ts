import type { Call } from "../../../shared/calls/call.ts";
import { accountOf, routeOf } from "../../../shared/dial-plan/routes.ts";
import type { DocumentKey } from "../../../shared/documents/documents.ts";
import {
  cancellationKeysOf,
  doNotCallKeysOf,
  pauseKeysOf,
} from "../../../shared/documents/orders.ts";
import {
  type BearingDocuments,
  isHeld,
  restoreKey,
  sweepKey,
} from "../../../shared/documents/restore.ts";
import { traceOfNumber } from "../../../shared/numbering/phone-number.ts";
import { accountNameOf, type Route } from "../../../shared/providers/index.ts";
import { breakerKeysOf } from "../../../shared/documents/breakers.ts";
import type { Known } from "../decide.ts";
import type { DialerDeps } from "../context.ts";
import { forgetLedger, seeEpoch } from "../epoch.ts";
import { calledUpKeyOf, paceKeyOf } from "../../../shared/schedule/account-pace.ts";

/**
 * Reads all documents that bear on these calls at once: breakers, pauses, cancellations, do-not-call, paces,
 * and whether the ledger was restored.
 *
 * @param numbers true to read the do-not-call entry of each number; every call is checked again before it is
 * dialed
 */
export async function documentsFor(
  calls: readonly Call[],
  { numbers }: { numbers: boolean },
  deps: DialerDeps,
): Promise<BearingDocuments> {
  const { documents, memory, settings } = deps;
  const { plan, hashKey } = settings;
  const keys = new Map<string, DocumentKey>();
  const want = (all: readonly DocumentKey[]) => {
    for (const one of all) keys.set(`${one.kind} ${one.key}`, one);
  };
  const agents = new Map<string, Route | undefined>();
  for (const call of calls) {
    want(cancellationKeysOf(call));
    agents.set(call.request.agent_id, routeOf(call.request.agent_id, plan));
  }
  for (const [agent, route] of agents) {
    want(pauseKeysOf(agent, route));
    if (route === undefined) continue;
    want(breakerKeysOf(agent, route));
    if (accountOf(route, plan).pace === undefined) continue;
    const account = accountNameOf(route);
    want([paceKeyOf(account), calledUpKeyOf(account), { kind: "account", key: account }]);
  }
  const hashes = calls.map(
    ({ request }) => traceOfNumber(request.phone_number, hashKey).numberHash,
  );
  want(doNotCallKeysOf(numbers ? [...new Set(hashes)] : [], hashKey));
  want([restoreKey, sweepKey]);
  const { epochSeen: seenBefore = 0 } = memory;
  const [read] = await Promise.all([documents.read([...keys.values()]), seeEpoch(deps)]);
  const { epochSeen } = memory;
  // A sweep may have moved the epoch on since the documents were read, so one less counts of what was seen meanwhile.
  const isOnHold = epochSeen === undefined || isHeld(read, Math.max(seenBefore, epochSeen - 1));
  const restoredAt = read.get(restoreKey.kind, restoreKey.key)?.value.since ?? 0;
  if (isOnHold || restoredAt > memory.restoredAt) forgetLedger(memory, restoredAt);
  return { ...read, isOnHold };
}

/** Combines everything that `decide` needs for the calls of a delivery. */
export function knownBy(
  documents: BearingDocuments,
  now: number,
  { settings }: Pick<DialerDeps, "settings">,
  ahead: ReadonlyMap<string, number> = new Map(),
): Known {
  const { plan, schedule, hashKey, providerOf } = settings;
  const canLookUp = (route: Route) => providerOf(route).lookUp !== undefined;
  const hashOf = (number: string) => traceOfNumber(number, hashKey).numberHash;
  return { plan, schedule, hashKey, documents, now, ahead, hashOf, canLookUp };
}

/** Combines two reads; the first one wins. */
export function bothRead(one: BearingDocuments, other: BearingDocuments): BearingDocuments {
  return {
    get: (kind, key) => one.get(kind, key) ?? other.get(kind, key),
    isOnHold: one.isOnHold || other.isOnHold,
  };
}
