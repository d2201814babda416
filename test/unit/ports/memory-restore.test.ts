import { describeJournal } from "#test/contracts/journal.ts";
import { createMemoryJournal } from "#test/support/memory-journal.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { describeEpochStore } from "#test/contracts/epoch-store.ts";
import { describeRestore } from "#test/contracts/restore.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { createMemoryEpochStore } from "#test/support/memory-epoch-store.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";

describeRestore("a ledger in memory", async (now) => {
  const rows: Parameters<typeof createMemoryLedger>[0] = new Map();
  const texts: Parameters<typeof createMemoryDocuments>[2] = new Map();
  return {
    ledger: createMemoryLedger(rows),
    documents: createMemoryDocuments(now, randomVersion, texts),
    epochStore: createMemoryEpochStore(),
    journal: createMemoryJournal(),
    async copy() {
      const copies = [structuredClone([...rows]), structuredClone([...texts])] as const;
      return async () => {
        rows.clear();
        texts.clear();
        for (const [id, row] of copies[0]) rows.set(id, row);
        for (const [name, text] of copies[1]) texts.set(name, text);
      };
    },
  };
});

describeEpochStore("memory", async () => createMemoryEpochStore());

describeJournal("memory", async () => createMemoryJournal());
