import type { EpochStore } from "#shared/ports/epoch-store.ts";

/** Creates an epoch store in this process's memory, for tests. */
export function createMemoryEpochStore(): EpochStore & { current(): number } {
  let current = 0;
  return {
    current: () => current,
    async read() {
      return current;
    },
    async write(epoch) {
      current = Math.max(current, epoch);
    },
  };
}
