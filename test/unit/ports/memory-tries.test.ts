import { randomVersion } from "../../../shared/lib/random.ts";
import { describeTries } from "../../contracts/tries.ts";
import { createMemoryDocuments } from "../../support/memory-documents.ts";
import { createMemoryLedger } from "../../support/memory-ledger.ts";

describeTries("a ledger in memory", async (now) => ({
  ledger: createMemoryLedger(),
  documents: createMemoryDocuments(now, randomVersion),
}));
