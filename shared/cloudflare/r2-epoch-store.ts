import { epochIn, epochPrefix, type EpochStore, nameOfEpoch } from "../ports/epoch-store.ts";

/** Keeps the ledger's epoch in R2, where no lifecycle rule removes it. */
export function createR2EpochStore(bucket: R2Bucket): EpochStore {
  return {
    async read() {
      const { objects } = await bucket.list({ prefix: epochPrefix, limit: 1 });
      return epochIn(objects[0]?.key);
    },
    async write(epoch, before) {
      await bucket.put(nameOfEpoch(epoch), "");
      if (before > 0) await bucket.delete(nameOfEpoch(before));
    },
  };
}
