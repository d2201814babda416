import type { DocumentsRead } from "./documents.ts";

/**
 * A ledger that is restored from a backup has WAITING rows of calls that were dialed since. Sweeps therefore
 * count an epoch, in the ledger and then in the object store beside it. A ledger whose epoch is behind the
 * object store's has gone back: nothing is dialed until an operator has named the time of the backup, and every
 * row that may have been dialed since is looked up or waits for review.
 */

/** Keeps the epoch outside the ledger, so that it does not go back with it. */
export interface EpochStore {
  /** Resolves to 0 if no epoch was ever written. */
  read(): Promise<number>;
  write(epoch: number): Promise<void>;
}

/** Name of the object that holds the epoch. */
export const epochObject = "epoch";
export const sweepKey = { kind: "sweep", key: "sweep" } as const;
export const restoreKey = { kind: "restore", key: "ledger" } as const;

/** Documents that bear on calls. */
export interface BearingDocuments extends DocumentsRead {
  /** True while nothing may be dialed because the ledger was restored to an earlier state. */
  isOnHold: boolean;
}

/**
 * True while nothing may be dialed because the ledger went back.
 *
 * @param documents those of `sweepKey` and `restoreKey`
 * @param epochSeen the highest epoch that was seen anywhere before the documents were read
 */
export function isHeld(documents: DocumentsRead, epochSeen: number): boolean {
  const { state } = documents.get("restore", restoreKey.key)?.value ?? {};
  if (state === "held" || state === "confirmed") return true;
  const epoch = documents.get("sweep", sweepKey.key)?.value.epoch ?? 0;
  return epoch < epochSeen;
}

/** Reads an epoch as stored. @throws if it is none, as only another program can have written it */
export function parseEpoch(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^\d{1,15}$/.test(text)) throw new Error("the epoch in the object store is no number");
  return Number(text);
}
