import type { CallRow } from "../calls/call-row.ts";

/** Maximum tries that follow a call. */
const followingMax = 5;

/**
 * Follows calls to the last tries of their chains.
 *
 * @returns the last try of each call that has a row, by the id of the call. A call without tries is its own last one
 */
export async function readLastTries<Row extends Pick<CallRow, "id" | "next">>(
  rows: Iterable<Row>,
  read: (ids: string[]) => Promise<{ rows: ReadonlyMap<string, Row> }>,
): Promise<Map<string, Row>> {
  const lastOf = new Map([...rows].map((row) => [row.id, row]));
  let open = new Map(
    [...lastOf].flatMap(([id, { next }]) => (next === undefined ? [] : [[id, next.id]])),
  );
  for (let n = 0; n < followingMax && open.size > 0; n++) {
    const found = (await read([...open.values()])).rows;
    const following = new Map<string, string>();
    for (const [id, tryId] of open) {
      const row = found.get(tryId);
      if (row === undefined) continue;
      lastOf.set(id, row);
      if (row.next !== undefined) following.set(id, row.next.id);
    }
    open = following;
  }
  return lastOf;
}
