import type { Call } from "../../../shared/calls/call-request.ts";
import { accountOf, findRoute } from "../../../shared/dial-plan/routes.ts";
import type { DocumentKey } from "../../../shared/ports/documents.ts";
import {
  cancellationKeysOf,
  doNotCallKeysOf,
  pauseKeysOf,
} from "../../../shared/policy/controls.ts";
import {
  type ControlDocuments,
  isLedgerSuspended,
  restoreKey,
  sweepKey,
} from "../../../shared/policy/restore.ts";
import { hashNumber } from "../../../shared/telephony/phone-number.ts";
import { accountNameOf, type Route } from "../../../shared/calls/route.ts";
import { backlogOf } from "../../../shared/calls/call-row.ts";
import { type BacklogOf, breakerKeysOf } from "../../../shared/policy/breakers.ts";
import type { Known } from "./decide-delivered.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { forgetLedger, seeEpoch } from "../runtime/epoch.ts";
import { paceKeyOf } from "../../../shared/policy/account-pace.ts";

/**
 * Reads all documents that bear on these calls at once: breakers, pauses, cancellations, do-not-call, paces, how
 * accounts and backlogs answer, and whether the ledger was restored.
 *
 * @param numbers true to read the do-not-call entry of each number; every call is checked again before it is
 * dialed
 */
export async function readControlDocuments(
  calls: readonly Call[],
  { numbers }: { numbers: boolean },
  deps: DialerDeps,
): Promise<ControlDocuments> {
  const { plan, hashKey } = deps.settings;
  const keys = new Map<string, DocumentKey>();
  const want = (all: readonly DocumentKey[]) => {
    for (const one of all) keys.set(`${one.kind} ${one.key}`, one);
  };
  const backlogs = new Map<string, BacklogOf>();
  for (const call of calls) {
    want(cancellationKeysOf(call));
    const of = { client: call.client, agentId: call.request.agent_id };
    backlogs.set(backlogOf(of), of);
  }
  for (const [key, of] of backlogs) {
    const route = findRoute(of.agentId, plan);
    want(pauseKeysOf(of.agentId, route));
    if (route === undefined) continue;
    want([...breakerKeysOf(of, route), { kind: "backlog", key }]);
    const account = accountNameOf(route);
    want([{ kind: "account", key: account }]);
    if (accountOf(route, plan).pace !== undefined) want([paceKeyOf(account)]);
  }
  const hashes = numbers
    ? calls.map(({ request }) => hashNumber(request.phone_number, hashKey).numberHash)
    : [];
  want(doNotCallKeysOf([...new Set(hashes)], hashKey));
  return readWithSuspension([...keys.values()], deps);
}

/** Reads documents, and whether anything may be dialed by the ledger as it is. */
export async function readWithSuspension(
  keys: readonly DocumentKey[],
  deps: DialerDeps,
): Promise<ControlDocuments> {
  const { documents, memory } = deps;
  const { epochSeen: seenBefore = 0 } = memory;
  const [read] = await Promise.all([
    documents.read([...keys, restoreKey, sweepKey]),
    seeEpoch(deps),
  ]);
  const { epochSeen } = memory;
  // A sweep may have moved the epoch on since the documents were read, so one less counts of what was seen meanwhile.
  const isSuspended =
    epochSeen === undefined || isLedgerSuspended(read, Math.max(seenBefore, epochSeen - 1));
  const restoredAt = read.get(restoreKey.kind, restoreKey.key)?.value.since ?? 0;
  if (isSuspended || restoredAt > memory.restoredAt) forgetLedger(memory, restoredAt);
  return { ...read, isSuspended };
}

/** Combines everything that `decide` needs for calls, as of now. */
export function toKnown(
  documents: ControlDocuments,
  { settings, clock, concurrency }: Pick<DialerDeps, "settings" | "clock" | "concurrency">,
): Known {
  const { plan, schedule, hashKey, providerOf } = settings;
  const canLookUp = (route: Route) => providerOf(route).lookUp !== undefined;
  const hashOf = (number: string) => hashNumber(number, hashKey).numberHash;
  const of = { plan, schedule, hashKey, documents, hashOf, canLookUp };
  return { ...of, now: clock.now(), ahead: new Map(), requestsAtOnce: concurrency };
}

/** Combines two reads; the first one wins. */
export function mergeControlDocuments(
  one: ControlDocuments,
  other: ControlDocuments,
): ControlDocuments {
  return {
    get: (kind, key) => one.get(kind, key) ?? other.get(kind, key),
    isSuspended: one.isSuspended || other.isSuspended,
  };
}

/** Maximum age of the orders and breakers that a request relies on. */
const documentsAgeMsMax = 5_000;

/**
 * Returns a function that reads the documents of a delivery's calls again if they would be more than 5 s old
 * at the requested time, as a call may be dialed minutes after its delivery began, or if this process has
 * opened or closed a breaker since. Age counts from the start of the read.
 */
export function createFreshDocuments(
  calls: readonly Call[],
  first: { read: ControlDocuments; askedAt: number; breakersChanged: number },
  deps: DialerDeps,
): (at: number) => Promise<ControlDocuments> {
  const { clock, memory } = deps;
  let last = { ...first, read: Promise.resolve(first.read) };
  return (at) => {
    const now = clock.now();
    // After the clock was set back, the age is unknown.
    const isOld = now < last.askedAt || at - last.askedAt > documentsAgeMsMax;
    const { breakersChanged } = memory;
    if (isOld || breakersChanged !== last.breakersChanged) {
      const read = readControlDocuments(calls, { numbers: true }, deps);
      const asked = { read, askedAt: now, breakersChanged };
      last = asked;
      asked.read.catch(() => {
        if (last === asked) last = { ...asked, askedAt: -Infinity }; // the next caller reads again
      });
    }
    return last.read;
  };
}
