import type { CallRow } from "../../../shared/calls/call-row.ts";
import type { Write } from "../../../shared/calls/transitions.ts";
import { doNotCallKeyOf, doNotCallKeysOf, listMarks } from "../../../shared/policy/controls.ts";
import { changeDocument } from "../../../shared/ports/change-document.ts";
import { changeRows } from "../record/change-rows.ts";
import type { DialerDeps } from "../runtime/context.ts";

/**
 * Puts the number of a call onto the do-not-call list, as its callee asked for, and notes it in the row, of
 * which it is an event.
 *
 * @returns false if another writer has changed the row
 * @throws if the ledger could not be reached; asked again, it does what is left
 */
export async function optOut(row: CallRow, deps: DialerDeps): Promise<boolean> {
  if (row.optedOut) return true;
  await list(row.numberHash, deps.clock.now(), deps);
  const note = (one: CallRow, { version, at }: Write) => ({
    ...one,
    optedOut: true,
    version,
    updatedAt: at,
  });
  const { conflicts } = await changeRows([row], note, deps);
  if (conflicts > 0) return false;
  deps.log("info", "call.opted_out", { call_id: row.id, client: row.client });
  return true;
}

/** Puts a number onto the list, and begins the list if it is the first one. @throws if other writes came first each time */
async function list(numberHash: string, at: number, deps: DialerDeps): Promise<void> {
  const { documents, settings } = deps;
  const { any, own } = listMarks(settings.hashKey);
  const read = await documents.read(doNotCallKeysOf([], settings.hashKey));
  const isList = read.get("do-not-call", any) !== undefined;
  // In this order: a list without its own mark counts as made under another key, and lets nobody be dialed.
  for (const key of isList ? [numberHash] : [own, any, numberHash]) {
    // An entry that stands is written over, under a fresh version: a removal of it whose answer was lost may be under
    // way still.
    const change = (current: { at: number } = { at }) => ({ value: current, expiresAt: null });
    await changeDocument({ name: doNotCallKeyOf(key), change }, deps);
  }
}
