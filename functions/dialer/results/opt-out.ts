import type { CallRow } from "../../../shared/calls/call-row.ts";
import type { DialerDeps } from "../context.ts";

/**
 * Puts the number of a call onto the do-not-call list, as its callee asked for, and notes it in the row, so that it is
 * told.
 *
 * @returns false if another writer has changed the row
 * @throws if the ledger could not be reached; asked again, it does what is left
 */
export async function optOut(row: CallRow, deps: DialerDeps): Promise<boolean> {
  const { ledger, documents, clock, random, log } = deps;
  if (row.optedOut) return true;
  const at = clock.now();
  const key = { kind: "do-not-call", key: row.numberHash } as const;
  const next = { ...key, version: random.version(), value: { at }, expiresAt: null };
  // One that stands already is as good.
  await documents.write([{ next, seen: null }]);
  const noted = { ...row, optedOut: true, version: random.version(), updatedAt: at };
  const [isWritten] = await ledger.write([{ next: noted, seen: row.version }]);
  if (isWritten === true) log("info", "call.opted_out", { call_id: row.id, client: row.client });
  return isWritten === true;
}
