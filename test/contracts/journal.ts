import { beforeEach, describe, expect, it } from "vitest";
import { type Journal, nameOfEntry } from "#shared/ports/journal.ts";

/** Describes a journal outside of the ledger. */
export function describeJournal(name: string, create: () => Promise<Journal>): void {
  describe(`${name} as a journal`, () => {
    let journal: Journal;
    beforeEach(async () => {
      journal = await create();
      const names = await journal.list({ limit: 1_000 });
      if (names.length > 0) await journal.remove(names);
    });

    it("lists entries in the order of their times, page by page", async () => {
      const names = [5, 40, 300, 2_000_000_000_000].map((at) => nameOfEntry(at, "0a"));
      for (const one of names.toReversed()) await journal.append(one, `body of ${one}`);
      expect(await journal.list({ limit: 10 })).toEqual(names);
      expect(await journal.list({ limit: 2 })).toEqual(names.slice(0, 2));
      expect(await journal.list({ after: names[1], limit: 10 })).toEqual(names.slice(2));
      expect(await journal.list({ after: nameOfEntry(40, ""), limit: 1 })).toEqual([names[1]]);
      expect(await journal.read(names[2] ?? "")).toBe(`body of ${names[2]}`);
    });

    it("takes an entry twice, and knows none that was removed", async () => {
      const one = nameOfEntry(7, "0b");
      await journal.append(one, "first");
      await journal.append(one, "again");
      expect(await journal.read(one)).toBe("again");
      await journal.remove([one]);
      await journal.remove([one]);
      expect(await journal.read(one)).toBeUndefined();
      expect(await journal.list({ limit: 10 })).toEqual([]);
    });

    it("removes many entries at once, and no other", async () => {
      const names = Array.from({ length: 40 }, (_, n) => nameOfEntry(n, "0c"));
      for (const one of names) await journal.append(one, "body");
      const gone = names.filter((_, n) => n % 3 > 0);
      await journal.remove([...gone, nameOfEntry(9, "0d")]);
      expect(await journal.list({ limit: 100 })).toEqual(names.filter((_, n) => n % 3 === 0));
    });
  });
}
