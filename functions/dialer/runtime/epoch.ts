import type { ControlDocuments } from "#shared/policy/ledger-epoch.ts";
import {
  isLedgerSuspended,
  isTooFarAhead,
  restoreKey,
  sweepKey,
} from "#shared/policy/ledger-epoch.ts";
import type {
  DocumentKey,
  DocumentsRead,
  StoredDocument,
  ValueOf,
} from "#shared/ports/document-kinds.ts";
import { toRead } from "#shared/ports/found-documents.ts";
import { errorForLog } from "#shared/lib/log.ts";
import type { DialerDeps } from "./context.ts";
import type { DialerMemory } from "./memory.ts";
import { minuteMs } from "#shared/lib/units.ts";

/** Interval at which a process reads the object store's epoch. */
const readEveryMs = minuteMs;
/** Time for which a process relies on the last epoch that it could read. */
const knownMsMax = 300_000;

/**
 * Reads the object store's epoch into this process's memory, at most once a minute. Never throws. A process that has
 * not read the epoch cannot detect a restore, so it dials nobody. Sweeps, which read the epoch themselves, find its
 * calls. Each delivery reads for itself, because a Worker may not wait for another request's answer.
 */
async function seeEpoch(
  deps: Pick<DialerDeps, "epochStore" | "clock" | "memory" | "log">,
): Promise<void> {
  const { epochStore, clock, memory, log } = deps;
  const now = clock.now();
  if (memory.epoch.seen !== undefined && now - memory.epoch.readAt < readEveryMs) return;
  memory.epoch.readAt = now;
  try {
    rememberEpoch(await epochStore.read(), deps);
  } catch (error) {
    log("warning", "epoch.unreachable", { error: errorForLog(error) });
    // An old epoch does not show a restore that may have happened since.
    if (now - memory.epoch.knownAt > knownMsMax) memory.epoch.seen = undefined;
  }
}

export function rememberEpoch(
  epoch: number,
  { memory, clock }: Pick<DialerDeps, "memory" | "clock">,
): void {
  memory.epoch.seen = Math.max(memory.epoch.seen ?? 0, epoch);
  memory.epoch.knownAt = clock.now();
}

/** Reads documents, and checks that the ledger was not restored. */
export async function readWithSuspension(
  keys: readonly DocumentKey[],
  deps: Pick<DialerDeps, "documents" | "memory" | "clock" | "epochStore" | "log">,
): Promise<ControlDocuments> {
  const { documents, memory } = deps;
  const { seen: seenBefore = 0 } = memory.epoch;
  const [read] = await Promise.all([
    documents.read([...keys, restoreKey, sweepKey]),
    seeEpoch(deps),
  ]);
  const { seen } = memory.epoch;
  // A sweep may have raised the epoch since the documents were read, so an epoch seen meanwhile counts as one less.
  const isSuspended = seen === undefined || isLedgerSuspended(read, Math.max(seenBefore, seen - 1));
  const restoredAt = read.get(restoreKey.kind, restoreKey.key)?.value.since ?? 0;
  if (isSuspended || restoredAt > memory.epoch.begunAt) forgetLedger(memory, restoredAt);
  return { ...read, isSuspended };
}

/** Combines two reads; the first one wins. */
export function mergeControlDocuments(
  one: ControlDocuments,
  other: ControlDocuments,
): ControlDocuments {
  return {
    ...toRead((kind, key) => one.find(kind, key) ?? other.find(kind, key)),
    isSuspended: one.isSuspended || other.isSuspended,
  };
}

/**
 * Reads the object store's epoch, then documents with those to which it is compared (`checkEpoch`).
 *
 * @throws if one of them cannot be read: nothing is swept then, as the ledger may have been restored
 */
export async function readEpochs(
  keys: readonly DocumentKey[],
  { documents, epochStore }: Pick<DialerDeps, "documents" | "epochStore">,
): Promise<{ outside: number; read: DocumentsRead }> {
  const outside = await epochStore.read();
  return { outside, read: await documents.read([sweepKey, restoreKey, ...keys]) };
}

/**
 * Writes the epoch of a sweep's document to the object store.
 *
 * @param outside the object store's epoch
 * @throws if it cannot be written, and is so far behind that a restore would not be noticed. Dispatchers stop, too
 */
export async function writeEpoch(
  sweep: Pick<ValueOf<"sweep">, "epoch" | "epochOutside">,
  outside: number,
  deps: Pick<DialerDeps, "epochStore" | "memory" | "clock" | "log">,
): Promise<void> {
  rememberEpoch(sweep.epoch, deps);
  await deps.epochStore.write(sweep.epoch, outside).catch((error: unknown) => {
    deps.log("alarm", "epoch.unreachable", { error: errorForLog(error) });
    if (isTooFarAhead(sweep)) throw error;
  });
}

/** Forgets which documents of backlogs exist, as a restored ledger may lack them. */
function forgetLedger(memory: DialerMemory, restoredAt: number): void {
  memory.ledger.backlogsUsedAt.clear();
  memory.epoch.begunAt = restoredAt;
}

/**
 * Compares the ledger's epoch with the object store's. A ledger that is behind was restored. Then writes the
 * `restore` document, which suspends all dialing until an operator confirms the restore.
 *
 * @param outside the object store's epoch
 * @param read the documents of `sweepKey` and `restoreKey`, read after `outside`
 * @returns the unfinished restore, or undefined if the sweep may continue
 * @throws if a restore is noticed and the ledger does not return its time. Nothing is dialed all the same, as the epochs differ
 */
export async function checkEpoch(
  outside: number,
  read: DocumentsRead,
  deps: Pick<DialerDeps, "clock" | "documents" | "random" | "log">,
): Promise<StoredDocument<"restore"> | undefined> {
  const { clock, documents, random, log } = deps;
  const current = read.get("restore", restoreKey.key);
  const epoch = read.get("sweep", sweepKey.key)?.value.epoch ?? 0;
  const isKnown = current !== undefined && current.value.epoch >= outside;
  if (epoch >= outside || isKnown) {
    return current?.value.state === "done" ? undefined : current;
  }
  const restore: StoredDocument<"restore"> = {
    ...restoreKey,
    version: random.version(),
    value: {
      // An operator may have confirmed the restore before a sweep detected it. The time that the operator named then
      // stays.
      ...(current?.value.state === "confirmed"
        ? current.value
        : { state: "suspended", at: null, by: null, lookedUp: 0, toReview: 0 }),
      // Calls that were due later count as never dialed: by a slow clock, calls of the lost time would ring again.
      since: Math.max(clock.now(), await documents.storeTime()),
      epoch: outside,
      isWatchDone: false,
      // A copy of the ledger from within a restore has the journal's position of that time.
      journalAfter: undefined,
      pass: undefined,
      isJournalDone: false,
    },
    expiresAt: null,
  };
  const [isWritten] = await documents.write([{ next: restore, seen: current?.version ?? null }]);
  log("alarm", "ledger.restored", { due_at: new Date(restore.value.since).toISOString() });
  if (isWritten === true) return restore;
  return (await documents.read([restoreKey])).get("restore", restoreKey.key);
}

/** Age of the last full round of a sweep from which deliveries raise an alarm, as the schedule may have stopped. */
const heartbeatMsMax = 300_000;
/** Interval between a process's checks of the heartbeat. */
const checkEveryMs = minuteMs;

/** Raises an alarm if no sweep has completed a full round for five minutes; at most once a minute. */
export async function watchHeartbeat(
  deps: Pick<DialerDeps, "documents" | "clock" | "log" | "memory">,
): Promise<void> {
  const { documents, clock, log, memory } = deps;
  const now = clock.now();
  if (now - memory.epoch.heartbeatReadAt < checkEveryMs) return;
  memory.epoch.heartbeatReadAt = now;
  const current = (await documents.read([sweepKey])).get("sweep", sweepKey.key);
  const lastAt = current?.value.fullRoundAt ?? now;
  if (current === undefined || now - lastAt <= heartbeatMsMax) return;
  log("alarm", "sweep.late", { due_at: new Date(lastAt).toISOString() });
}
