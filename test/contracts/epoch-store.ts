import { beforeEach, describe, expect, it } from "vitest";
import type { EpochStore } from "#shared/ports/epoch-store.ts";

/** Describes a store that keeps the ledger's epoch outside of the ledger. */
export function describeEpochStore(name: string, create: () => Promise<EpochStore>): void {
  describe(`${name} as an epoch store`, () => {
    let store: EpochStore;
    beforeEach(async () => {
      store = await create();
    });

    it("has the epoch 0 at first, and then the one that was written", async () => {
      expect(await store.read()).toBe(0);
      for (const epoch of [1, 2, 9, 10, 11, 99, 100, 43_200, 525_600_000]) {
        await store.write(epoch, await store.read());
        expect(await store.read()).toBe(epoch);
      }
    });

    it("never goes back, whatever a stalled sweep writes", async () => {
      await store.write(20, 0);
      await store.write(3, 2);
      expect(await store.read()).toBe(20);
      await store.write(21, 20);
      await store.write(20, 19);
      expect(await store.read()).toBe(21);
    });

    it("takes the same epoch twice", async () => {
      await store.write(5, 0);
      await store.write(5, 4);
      expect(await store.read()).toBe(5);
    });
  });
}
