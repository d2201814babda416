import { randomVersion } from "#shared/lib/random.ts";
import { describeSandbox } from "#test/contracts/sandbox.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";

describeSandbox("a ledger in memory", async (now) => ({
  ledger: createMemoryLedger(),
  documents: createMemoryDocuments(now, randomVersion),
}));
