import type { DocumentsRead } from "../ports/documents.ts";
import type { ValueOf } from "../ports/document-kinds.ts";

/**
 * A ledger that is restored from a backup has WAITING rows of calls that were dialed since. Sweeps therefore
 * count an epoch, in the ledger and then in the object store beside it. A ledger whose epoch is behind the
 * object store's has gone back: nothing is dialed until an operator has named the time of the backup, and every
 * row that may have been dialed since is looked up or waits for review.
 */

/**
 * Keeps the epoch outside the ledger, so that it does not go back with it. Each epoch is an object whose name is
 * first in a list if its epoch is the highest: a sweep that stood still cannot lower it.
 */
export interface EpochStore {
  /** Resolves to the highest epoch that was written, or 0. */
  read(): Promise<number>;
  /** Writes an epoch, and removes the one `before`, as it was read. A lower epoch than the standing one is void. */
  write(epoch: number, before: number): Promise<void>;
}

/** Beginning of the names of the epochs' objects. */
export const epochPrefix = "epoch/";
const epochMax = 1e15;

export function nameOfEpoch(epoch: number): string {
  return epochPrefix + String(epochMax - epoch).padStart(16, "0");
}

/** Returns the epoch of an object's name, or 0 if there is no object. */
export function epochIn(name: string | undefined): number {
  return name === undefined ? 0 : epochMax - Number(name.slice(epochPrefix.length));
}

export const sweepKey = { kind: "sweep", key: "sweep" } as const;
export const restoreKey = { kind: "restore", key: "ledger" } as const;

/** Documents that bear on calls. */
export interface ControlDocuments extends DocumentsRead {
  /** True while nothing may be dialed because the ledger was restored to an earlier state. */
  isSuspended: boolean;
}

/**
 * True while nothing may be dialed because the ledger went back.
 *
 * @param documents those of `sweepKey` and `restoreKey`
 * @param epochSeen the highest epoch that was seen anywhere before the documents were read
 */
export function isLedgerSuspended(documents: DocumentsRead, epochSeen: number): boolean {
  const { state } = documents.get("restore", restoreKey.key)?.value ?? {};
  if (state === "suspended" || state === "confirmed") return true;
  const epoch = documents.get("sweep", sweepKey.key)?.value.epoch ?? 0;
  return epoch < epochSeen;
}

/** Maximum epochs by which the ledger may be ahead of the object store. */
const epochsAheadMax = 3;

/**
 * True if the object store's epoch stays too far behind. A restore of the ledger would then not be noticed, so no row
 * that waits may be dialed.
 */
export function isTooFarAhead({
  epoch,
  epochOutside = epoch,
}: Pick<ValueOf<"sweep">, "epoch" | "epochOutside">): boolean {
  return epoch > epochOutside + epochsAheadMax;
}
