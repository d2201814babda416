import type { EpochStore } from "../../shared/policy/restore.ts";

/** Creates an epoch store in this process's memory, for tests. */
export function createMemoryEpochStore(): EpochStore & { standing(): number } {
  let standing = 0;
  return {
    standing: () => standing,
    async read() {
      return standing;
    },
    async write(epoch) {
      standing = Math.max(standing, epoch);
    },
  };
}
