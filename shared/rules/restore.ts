import {
  type ControlDocuments,
  isLedgerSuspended,
  isTooFarAhead,
  restoreKey,
  sweepKey,
} from "../policy/ledger-epoch.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";
import type { Facts, Holder, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

export function keys(): DocumentKey[] {
  return [restoreKey];
}

/**
 * The ledger was restored: nothing is dialed until the restore is done. A call may have been dialed in the lost time,
 * so not even its end is decided.
 */
export function admit(
  { call }: ResolvedCall,
  { documents }: Pick<Facts, "documents">,
): Verdict | undefined {
  if (!documents.isSuspended) return undefined;
  // Due since its acceptance, so that it can be compared with the restore's time.
  return { kind: "hold", reason: "restored", firstDueAt: call.acceptedAt };
}

/** Nothing that the ledger says of calls may be relied on. */
export function halts({ isSuspended }: ControlDocuments): boolean {
  return isSuspended;
}

/** No dispatcher begins anything while a restore could go unnoticed, either. */
export function haltsDispatch(documents: ControlDocuments): boolean {
  const sweep = documents.get(sweepKey.kind, sweepKey.key)?.value;
  return documents.isSuspended || (sweep !== undefined && isTooFarAhead(sweep));
}

/** By the document alone, as an operator reads no epoch. */
export function holders(_target: unknown, { documents }: { documents: DocumentsRead }): Holder[] {
  return isLedgerSuspended(documents, 0) ? [{ reason: "restored", name: "", until: null }] : [];
}

export const texts: Texts = {
  restored: {
    means:
      "The ledger was restored to an earlier state, and the call may have been dialed meanwhile.",
    holds: () => "The ledger was restored: nothing is dialed.",
    endedBy: "person",
    stops: true,
  },
};
