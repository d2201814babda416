import type { Call } from "../calls/call-request.ts";
import type { CallRow } from "../calls/call-row.ts";
import { mayHaveBeenDialed, mayHaveHadRow } from "../calls/lost-time.ts";
import type { DocumentsRead } from "../ports/document-kinds.ts";
import { restoreKey } from "../policy/controls.ts";
import { type FirstRowFacts, judgeFirstRow } from "./first-row.ts";
import type { Facts, Judge, Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/**
 * True if a call may have been dialed in the time that a restore lost. Its row may be lost, or a function that stood
 * still may have written the row after the sweeps went through the rows.
 */
export function mayHaveBeenLost(
  call: Call,
  row: CallRow | undefined,
  documents: DocumentsRead,
): boolean {
  const restore = documents.get("restore", restoreKey.key)?.value;
  if (restore === undefined) return false;
  if (row === undefined) return mayHaveHadRow(call, restore.since);
  const { at, since } = restore;
  return row.state === "WAITING" && mayHaveBeenDialed(row, { at: at ?? since, since });
}

/** A call that may have been dialed in the lost time is not dialed again: its orders end it, or a person decides. */
export function admit(ends: readonly Judge<FirstRowFacts>[]) {
  return (call: ResolvedCall, facts: Facts): Verdict | undefined =>
    mayHaveBeenLost(call.call, call.row, facts.documents)
      ? judgeFirstRow({ ...call, row: undefined }, { reason: "restored", ends }, facts)
      : undefined;
}
