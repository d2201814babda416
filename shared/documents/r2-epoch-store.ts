import { type EpochStore, epochObject, parseEpoch } from "./restore.ts";

/** Keeps the ledger's epoch in R2, where no lifecycle rule removes it. */
export function createR2EpochStore(bucket: R2Bucket): EpochStore {
  return {
    async read() {
      const object = await bucket.get(epochObject);
      return parseEpoch(await object?.text());
    },
    async write(epoch) {
      await bucket.put(epochObject, String(epoch));
    },
  };
}
