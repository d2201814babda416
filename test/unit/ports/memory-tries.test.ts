import { randomVersion } from "#shared/lib/random.ts";
import { describeTries } from "#test/contracts/tries.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";

describeTries("a ledger in memory", async (now) => ({
  ledger: createMemoryLedger(),
  documents: createMemoryDocuments(now, randomVersion),
}));
