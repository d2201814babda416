import { createMemoryDocuments } from "../../support/memory-documents.ts";
import { randomId } from "../../../shared/lib/random.ts";
import { describeDocuments } from "../../contracts/documents/index.ts";

describeDocuments("memory", async (now) => createMemoryDocuments(now, randomId), { runs: 200 });
