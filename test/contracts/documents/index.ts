import type { CreateDocuments } from "#test/support/documents.ts";
import { describeCounting } from "./counting.ts";
import { describeGuards } from "./guards.ts";
import { describeDocumentListing } from "./listing.ts";
import { describePermits } from "./permits.ts";
import { describeStoreTime } from "./time.ts";
import { describeDocumentWriting } from "./writing.ts";

/**
 * Describes the behaviour of every document store, on any engine.
 *
 * @param options.runs number of random sequences of takers that are compared with `grantPermits`
 */
export function describeDocuments(
  name: string,
  create: CreateDocuments,
  { runs }: { runs: number },
): void {
  describeDocumentWriting(name, create);
  describeCounting(name, create);
  describeGuards(name, create);
  describeDocumentListing(name, create);
  describePermits(name, create, { runs });
  describeStoreTime(name, create);
}
