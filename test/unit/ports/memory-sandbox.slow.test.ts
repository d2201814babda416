import { randomVersion } from "../../../shared/lib/random.ts";
import { describeSandbox } from "../../contracts/sandbox.ts";
import { createMemoryDocuments } from "../../support/memory-documents.ts";
import { createMemoryLedger } from "../../support/memory-ledger.ts";

describeSandbox("a ledger in memory", async (now) => ({
  ledger: createMemoryLedger(),
  documents: createMemoryDocuments(now, randomVersion),
}));
