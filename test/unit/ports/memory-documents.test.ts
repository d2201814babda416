import { createMemoryDocuments } from "../../support/memory-documents.ts";
import { randomId } from "../../../shared/lib/random.ts";
import { describeDocuments } from "../../contracts/documents/index.ts";
import { perTier } from "../../support/per-tier.ts";

describeDocuments("memory", async (now) => createMemoryDocuments(now, randomId), {
  runs: perTier({ quick: 20, slow: 200 }),
});
