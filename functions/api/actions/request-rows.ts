import type { CallRow } from "../../../shared/calls/call-row.ts";
import { toCallId } from "../../../shared/calls/ids.ts";
import type { CallLedger } from "../../../shared/ports/ledger.ts";

/** Maximum rows of one read. A request has up to ten times as many. */
const readAtOnce = 1000;

/**
 * Reads the rows of calls by their ids, in parts. The ids of a request's calls are known, so no lagging index is
 * needed.
 */
export async function* rowsOf(
  ids: readonly string[],
  ledger: Pick<CallLedger, "read">,
): AsyncGenerator<CallRow> {
  for (let from = 0; from < ids.length; from += readAtOnce) {
    yield* (await ledger.read(ids.slice(from, from + readAtOnce))).rows.values();
  }
}

/** Returns the ids of a request's calls from index `from` up to but not including `end`. */
export function callIdsOf(requestId: string, from: number, end: number): string[] {
  return Array.from({ length: Math.max(0, end - from) }, (_, n) => toCallId(requestId, from + n));
}
