import { describe, expect, it } from "vitest";
import type { CreateDocuments } from "#test/support/documents.ts";

const hourMs = 3_600_000;

/** Describes the store's own clock, which decides whose clock is wrong. */
export function describeStoreTime(name: string, create: CreateDocuments): void {
  describe(`${name} as documents: time`, () => {
    it("is the store's own, whatever the clock of the process says", async () => {
      for (const ahead of [-hourMs, 0, hourMs]) {
        const documents = await create(() => Date.now() + ahead);
        const before = Date.now();
        const time = await documents.storeTime();
        // A store may tell whole seconds.
        expect(time).toBeGreaterThan(before - 1_500);
        expect(time).toBeLessThan(Date.now() + 1_500);
      }
    });
  });
}
