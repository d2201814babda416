import type { Restored } from "../calls/lost-time.ts";
import type { DocumentKey, DocumentsRead, ValueOf } from "../ports/document-kinds.ts";
import type { Documents } from "../ports/documents.ts";

/**
 * A ledger that is restored from a backup has WAITING rows of calls that were dialed since. So sweeps count an epoch,
 * in the ledger and then in the object store. A ledger whose epoch is behind the object store's was restored: nothing
 * is dialed until an operator has named the time of the backup, and every row that may have been dialed since is
 * looked up or waits for review.
 */

/** Names the document of the sweeps: their lease, their progress and the ledger's epoch. */
export const sweepKey = { kind: "sweep", key: "sweep" } as const;
/** Names the document of the upkeep, which sweeps do beside their rows. */
export const upkeepKey = { kind: "upkeep", key: "upkeep" } as const;
export const restoreKey = { kind: "restore", key: "ledger" } as const;

/** Names the documents that say how the ledger stands: its sweeps and its last restore. */
export const ledgerKeys = [sweepKey, restoreKey] as const;

/** Returns the ledger's last restore. */
function lastRestore(documents: DocumentsRead): ValueOf<"restore"> | undefined {
  return documents.get(restoreKey.kind, restoreKey.key)?.value;
}

/** Returns the time that the last restore lost. Its notice counts as its beginning until an operator names the backup's time. */
export function findLostTime(documents: DocumentsRead): Restored | undefined {
  const restore = lastRestore(documents);
  return restore && { at: restore.at ?? restore.since, since: restore.since };
}

/** Returns the ledger's restore that is not dealt with yet. */
export function findRestore(documents: DocumentsRead): ValueOf<"restore"> | undefined {
  const restore = lastRestore(documents);
  return restore?.state === "done" ? undefined : restore;
}

/**
 * True while nothing may be dialed because the ledger was restored.
 *
 * @param documents those of `sweepKey` and `restoreKey`
 * @param epochSeen the highest epoch that was seen anywhere before the documents were read
 */
export function isLedgerSuspended(documents: DocumentsRead, epochSeen: number): boolean {
  if (findRestore(documents) !== undefined) return true;
  const epoch = documents.get("sweep", sweepKey.key)?.value.epoch ?? 0;
  return epoch < epochSeen;
}

/**
 * Reads documents that a restored ledger may have in an earlier state.
 *
 * @param epochSeen the object store's epoch, read before
 * @returns the ledger's epoch, and whether what was read is true of today: not until a restore is dealt with
 */
export async function readOfToday(
  keys: readonly DocumentKey[],
  epochSeen: number,
  documents: Pick<Documents, "read">,
): Promise<{ read: DocumentsRead; epoch: number | undefined; isOfToday: boolean }> {
  const read = await documents.read([...keys, ...ledgerKeys]);
  const epoch = read.get(sweepKey.kind, sweepKey.key)?.value.epoch;
  return { read, epoch, isOfToday: !isLedgerSuspended(read, epochSeen) };
}

/** Says why documents that are not of today are not relied on. */
export const notOfToday = "the ledger was restored, and its journal is not applied yet";

/** Maximum epochs by which the ledger may be ahead of the object store. */
const epochsAheadMax = 3;

/**
 * True if the object store's epoch is too far behind. A restore of the ledger could then go undetected, so no waiting
 * row may be dialed.
 */
export function isTooFarAhead({
  epoch,
  epochOutside = epoch,
}: Pick<ValueOf<"sweep">, "epoch" | "epochOutside">): boolean {
  return epoch > epochOutside + epochsAheadMax;
}

/** Documents that control calls. */
export interface ControlDocuments extends DocumentsRead {
  /** True while nothing may be dialed because the ledger was restored to an earlier state. */
  isSuspended: boolean;
}

/**
 * Returns documents that were read together with the document of the restore, which alone shows whether dialing is
 * suspended.
 */
export function toControlDocuments(read: DocumentsRead): ControlDocuments {
  return { ...read, isSuspended: isLedgerSuspended(read, 0) };
}

/** Says why a dialer does not work as the ledger was restored; undefined where it works. */
export function restoreText(documents: DocumentsRead): string | undefined {
  const restore = findRestore(documents);
  if (restore === undefined) return undefined;
  const restored = "the ledger was restored from a backup, and";
  if (restore.state === "suspended") return `${restored} nothing is dialed until that is confirmed`;
  const { rows = 0, backlogs = 0 } = restore.pass ?? {};
  return `${restored} its calls are being checked: ${rows} calls in ${backlogs} backlogs so far`;
}
