import type { CallRow } from "../../../shared/calls/call-row.ts";
import type { Write } from "../../../shared/calls/transitions.ts";
import { doNotCallKeyOf, doNotCallKeysOf, listMarks } from "../../../shared/policy/controls.ts";
import { changeDocument } from "../../../shared/ports/change-document.ts";
import { changeRows } from "../record/change-rows.ts";
import type { DialerDeps } from "../runtime/context.ts";

/**
 * Puts the number of a call onto the do-not-call list, as the callee asked, and records this in the row, which makes
 * an event of it.
 *
 * @returns false if another writer has changed the row
 * @throws if the ledger could not be reached. Called again, it does what is left
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

/** Puts a number onto the list, and creates the list if there is none. @throws if other writes came first each time */
async function list(numberHash: string, at: number, deps: DialerDeps): Promise<void> {
  const { documents, settings } = deps;
  const { any, own } = listMarks(settings.hashKey);
  const read = await documents.read(doNotCallKeysOf([], settings.hashKey));
  const isList = read.get("do-not-call", any) !== undefined;
  // The order matters: a list without this key's mark counts as another key's, and stops all dialing.
  for (const key of isList ? [numberHash] : [own, any, numberHash]) {
    // An existing entry gets a fresh version, so that an earlier removal whose answer was lost cannot remove it.
    const change = (current: { at: number } = { at }) => ({ value: current, expiresAt: null });
    await changeDocument({ name: doNotCallKeyOf(key), change }, deps);
  }
}
