import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { randomId } from "#shared/lib/random.ts";
import { describeDocuments } from "#test/contracts/documents/index.ts";
import { perTier } from "#test/support/per-tier.ts";

const create = async (now: () => number) =>
  createMemoryDocuments(now, randomId, new Map(), Date.now);
describeDocuments("memory", create, { runs: perTier({ quick: 6, long: 60 }) });
