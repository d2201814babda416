import { documentsAgeMsMax } from "../../../shared/lib/timing.ts";
import { hashedNumberOf } from "../../../shared/calls/ids.ts";
import type { Call } from "../../../shared/calls/call-request.ts";
import { backlogOf } from "../../../shared/calls/call-row.ts";
import type { DocumentKey } from "../../../shared/ports/document-kinds.ts";
import {
  type ControlDocuments,
  restoreKey,
  isLedgerSuspended,
  sweepKey,
  cancellationKeysOf,
  pauseKeysOf,
  moreKeysOf,
  doNotCallKeysOf,
  listIn,
} from "../../../shared/policy/controls.ts";
import { paceKeyOf } from "../../../shared/policy/account-pace.ts";
import { createResolver, hashesUnder } from "../../../shared/rules/resolved-call.ts";
import { callerIdsKeyOf } from "../../../shared/policy/caller-ids.ts";
import { dayKeyOf } from "../../../shared/policy/day-counts.ts";
import { allHashesOf } from "../../../shared/telephony/phone-number.ts";
import { type BacklogOf, breakerKeysOf } from "../../../shared/policy/breakers.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { noteReceivers, unknownReceivers } from "../../../shared/events/outbox-ledger.ts";
import { forgetLedger, seeEpoch } from "../runtime/epoch.ts";

/**
 * Reads all documents that control these calls at once: breakers, pauses, cancellations, do-not-call entries, paces,
 * accounts, backlogs, and those that show a restore.
 *
 * @param numbers true to read the do-not-call entry of each number; every call is checked again before it is
 * dialed
 */
export async function readControlDocuments(
  calls: readonly Call[],
  { numbers }: { numbers: boolean },
  deps: DialerDeps,
): Promise<ControlDocuments> {
  const { plan, table, hashKeys } = deps.settings;
  const resolver = createResolver(table, hashesUnder(hashKeys));
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
    const target = resolver.find(of);
    want(target?.pauses ?? pauseKeysOf(of, undefined));
    if (target === undefined) continue;
    const { route, account, breakers } = target;
    const { name, pace, callsPerDay } = account;
    want([...breakerKeysOf(of, breakers), { kind: "backlog", key }]);
    want([{ kind: "account", key: name }]);
    if (pace !== undefined) want([paceKeyOf(name)]);
    if (route.callerIds !== undefined) want([callerIdsKeyOf(route)]);
    if (callsPerDay !== undefined) want([dayKeyOf({ account: name }, deps.clock.now())]);
  }
  const hashes = numbers
    ? calls.flatMap((call) => allHashesOf(hashedNumberOf(call), hashKeys).asked)
    : [];
  want(doNotCallKeysOf([...new Set(hashes)]));
  const more = numbers ? moreKeysOf(calls, hashKeys) : [];
  if (deps.memory.readsMore) want(more);
  const own = { ...deps, plan, ownReceivers: deps.memory.ownReceivers };
  const receivers = unknownReceivers(
    calls.map(({ client }) => client),
    own,
  );
  want(receivers);
  const read = await readWithSuspension([...keys.values()], deps);
  noteReceivers(receivers, read, own);
  if (deps.memory.readsMore || listIn(read)?.hasMore !== true) return read;
  // Only a process that learns of the first such document reads twice. Others have them in their one read.
  deps.memory.readsMore = true;
  if (more.length === 0) return read;
  return mergeControlDocuments(read, await readWithSuspension(more, deps));
}

/** Reads documents, and checks that the ledger was not restored. */
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
  // A sweep may have raised the epoch since the documents were read, so an epoch seen meanwhile counts as one less.
  const isSuspended =
    epochSeen === undefined || isLedgerSuspended(read, Math.max(seenBefore, epochSeen - 1));
  const restoredAt = read.get(restoreKey.kind, restoreKey.key)?.value.since ?? 0;
  if (isSuspended || restoredAt > memory.restoredAt) forgetLedger(memory, restoredAt);
  return { ...read, isSuspended };
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

/**
 * Returns a function that returns the documents of a delivery's calls. It reads them again if they would be more than
 * 5 s old at the requested time, as calls may be dialed minutes after the delivery began, or if this process has
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
    // If the clock was set back, the age is unknown.
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
