import type { Call } from "../calls/call-request.ts";
import type { CallRow } from "../calls/call-row.ts";
import { lostReason, mayHaveBeenDialed, mayHaveHadRow } from "../calls/lost-time.ts";
import type { DocumentsRead } from "../ports/document-kinds.ts";
import { findLostTime } from "../policy/ledger-epoch.ts";
import type { FirstRowFacts } from "./first-row.ts";
import { type Facts, findVerdict, type Judge, type Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/**
 * True if a call may have been dialed in the time that a restore lost. Its row may be lost, or a frozen function may
 * have written the row after the sweeps went through the rows.
 */
function mayHaveBeenLost(call: Call, row: CallRow | undefined, documents: DocumentsRead): boolean {
  const lost = findLostTime(documents);
  if (lost === undefined) return false;
  if (row === undefined) return mayHaveHadRow(call, lost.since);
  return row.state === "WAITING" && mayHaveBeenDialed(row, lost);
}

/** The documents of a fresh call's number must be read, as its orders decide at once. */
export function needsNumber({ call }: { call: Call }, documents: DocumentsRead): boolean {
  return mayHaveBeenLost(call, undefined, documents);
}

/**
 * Judges a call that may have been dialed in the lost time. It neither expires nor is refused, as that would say that nobody
 * was phoned: its orders end it, or a person decides.
 */
export function judgeLost(
  call: ResolvedCall,
  ends: readonly Judge<FirstRowFacts>[],
  facts: FirstRowFacts,
): Extract<Verdict, { kind: "end" }> {
  const end = findVerdict(ends, call, { ...facts, at: facts.now });
  if (end?.kind === "end" && end.state === "CANCELLED") return end;
  return { kind: "end", state: "NEEDS_REVIEW", reason: lostReason };
}

/** A call that may have been dialed in the lost time is not dialed again. */
export function admit(ends: readonly Judge<FirstRowFacts>[]) {
  return (call: ResolvedCall, facts: Facts): Verdict | undefined =>
    mayHaveBeenLost(call.call, call.row, facts.documents)
      ? judgeLost({ ...call, row: undefined }, ends, facts)
      : undefined;
}
