import type { CallRow } from "#shared/calls/call-row.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { readLastTries } from "#shared/ports/last-tries.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";

/** Maximum rows of one read. A request has up to ten times as many. */
const readAtOnce = 1000;

/**
 * Reads the rows of calls by their ids, in parts. The ids of a request's calls are known, so no lagging index is
 * needed.
 *
 * @param withCallBacks true: a promised call-back is the last try, too. A request is finished without it
 * @returns each call's id with its row; of a call that was tried again, with the row of its last try
 */
export async function* lastTriesOf(
  ids: readonly string[],
  ledger: Pick<CallLedger, "read">,
  withCallBacks = false,
): AsyncGenerator<[id: string, row: CallRow]> {
  for (let from = 0; from < ids.length; from += readAtOnce) {
    const { rows } = await ledger.read(ids.slice(from, from + readAtOnce));
    yield* await readLastTries(rows, (tries) => ledger.read(tries), withCallBacks);
  }
}

/** Reads the rows of calls as `lastTriesOf` does, without their ids. */
export async function* rowsOf(
  ids: readonly string[],
  ledger: Pick<CallLedger, "read">,
): AsyncGenerator<CallRow> {
  for await (const [, row] of lastTriesOf(ids, ledger)) yield row;
}

/** Returns the ids of a request's calls from index `from` up to but not including `end`. */
export function callIdsOf(requestId: string, from: number, end: number): string[] {
  return Array.from({ length: Math.max(0, end - from) }, (_, n) => toCallId(requestId, from + n));
}
