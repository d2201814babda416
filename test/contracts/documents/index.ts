import type { CreateDocuments } from "../../support/documents.ts";
import { describeCounting } from "./counting.ts";
import { describeDocumentListing } from "./listing.ts";
import { describePermits } from "./permits.ts";
import { describeDocumentWriting } from "./writing.ts";

/**
 * What every store of documents does, whatever engine keeps it.
 *
 * @param options.runs how many random sequences of takers are compared with `grantPermits`
 */
export function describeDocuments(
  name: string,
  create: CreateDocuments,
  { runs }: { runs: number },
): void {
  describeDocumentWriting(name, create);
  describeCounting(name, create);
  describeDocumentListing(name, create);
  describePermits(name, create, { runs });
}
