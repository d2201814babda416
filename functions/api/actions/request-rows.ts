import type { CallRow } from "../../../shared/calls/call-row.ts";
import { toCallId } from "../../../shared/calls/ids.ts";
import type { CallLedger } from "../../../shared/ports/ledger.ts";

/** Rows that are read at once. A whole request is up to ten times as many. */
const readAtOnce = 1000;

/** Reads the rows of calls by their ids, in parts. The ids of all calls of a request are known, so no index that lags is asked. */
export async function* rowsOf(
  ids: readonly string[],
  ledger: Pick<CallLedger, "read">,
): AsyncGenerator<CallRow> {
  for (let from = 0; from < ids.length; from += readAtOnce) {
    yield* (await ledger.read(ids.slice(from, from + readAtOnce))).rows.values();
  }
}

/** Returns the ids of a request's calls from an index on, up to another. */
export function callIdsOf(requestId: string, from: number, end: number): string[] {
  return Array.from({ length: Math.max(0, end - from) }, (_, n) => toCallId(requestId, from + n));
}
