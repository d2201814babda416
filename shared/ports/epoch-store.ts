/**
 * Stores the epoch outside the ledger, where a restore of the ledger does not change it. Each epoch is an object,
 * named so that the highest epoch is listed first. So a frozen sweep cannot lower it.
 */
export interface EpochStore {
  /** Resolves to the highest epoch that was written, or 0. */
  read(): Promise<number>;
  /**
   * Writes an epoch and removes `before`, the epoch that was read. Writing a lower epoch than the current one has no
   * effect.
   */
  write(epoch: number, before: number): Promise<void>;
}

/** Prefix of the names of epochs' objects. */
export const epochPrefix = "epoch/";
const epochMax = 1e15;

export function nameOfEpoch(epoch: number): string {
  return epochPrefix + String(epochMax - epoch).padStart(16, "0");
}

/** Returns the epoch of an object's name, or 0 if there is no object. */
export function epochIn(name: string | undefined): number {
  return name === undefined ? 0 : epochMax - Number(name.slice(epochPrefix.length));
}
