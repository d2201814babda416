import type { DocumentsRead } from "../ports/document-kinds.ts";
import { toRead } from "../ports/found-documents.ts";
import { isLedgerSuspended } from "./ledger-epoch.ts";

/** Documents that control calls. */
export interface ControlDocuments extends DocumentsRead {
  /** True while nothing may be dialed because the ledger was restored to an earlier state. */
  isSuspended: boolean;
}

/**
 * Returns documents that were read together with the document of the restore, which alone shows whether dialing is
 * suspended.
 */
export function toControlDocuments(read: DocumentsRead): ControlDocuments {
  return { ...read, isSuspended: isLedgerSuspended(read, 0) };
}

/** Combines two reads; the first one wins. */
export function mergeControlDocuments(
  one: ControlDocuments,
  other: ControlDocuments,
): ControlDocuments {
  return {
    ...toRead((kind, key) => one.find(kind, key) ?? other.find(kind, key)),
    isSuspended: one.isSuspended || other.isSuspended,
  };
}
