import type { CallRow } from "../calls/call-row.ts";
import { isCallBackNext } from "../calls/chain.ts";
import { chainCallsMax } from "../calls/tries.ts";
import { type RowsRead, unreadable } from "./unreadable.ts";

type Followed = Pick<CallRow, "id" | "next" | "callBack">;

/**
 * Reads the tries that follow calls. It reads nothing for calls without any.
 *
 * @param withCallBacks false: only tries before the first promise
 * @returns the tries that have rows, by the id of the call, which is the first of them. A call with a try that only a later
 * version can read is not among them, as if its own row could not be read
 */
export async function readTries<Row extends Followed>(
  rows: Iterable<Row>,
  read: (ids: string[]) => Promise<RowsRead<Row>>,
  withCallBacks = true,
): Promise<Map<string, Row[]>> {
  const tries = new Map([...rows].map((row) => [row.id, [row]]));
  for (let n = 0; n < chainCallsMax - 1; n++) {
    const open = [...tries].flatMap(([id, all]) => {
      const last = all.length === n + 1 ? all.at(-1) : undefined;
      const next = last && (withCallBacks || !isCallBackNext(last)) ? last.next : undefined;
      return next === undefined ? [] : [{ id, all, next }];
    });
    if (open.length === 0) break;
    const found = await read(open.map(({ next }) => next.id));
    for (const { id, all, next } of open) {
      const row = found.get(next.id);
      if (row === unreadable) tries.delete(id);
      else if (row !== undefined) all.push(row);
    }
  }
  return tries;
}

/** Reads the last tries of calls. A call without others is its own last one. */
export async function readLastTries<Row extends Followed>(
  rows: Iterable<Row>,
  read: Parameters<typeof readTries<Row>>[1],
  withCallBacks = true,
): Promise<Map<string, Row>> {
  const tries = await readTries(rows, read, withCallBacks);
  return new Map([...tries].flatMap(([id, all]) => all.slice(-1).map((row) => [id, row] as const)));
}
