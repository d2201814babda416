import type { EpochStore } from "../../shared/documents/restore.ts";

/** Creates an epoch store in this process's memory, for tests. */
export function createMemoryEpochStore(): EpochStore {
  let standing = 0;
  return {
    async read() {
      return standing;
    },
    async write(epoch) {
      standing = epoch;
    },
  };
}
