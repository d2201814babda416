import type { CallRow } from "../../../shared/calls/call-row.ts";
import type { Write } from "../../../shared/calls/transitions.ts";
import { hourMs } from "../../../shared/lib/units.ts";
import { doNotCallListKey, findCurrentSince, namesOf } from "../../../shared/policy/do-not-call.ts";
import { putEntries } from "../../../shared/policy/do-not-call-entries.ts";
import { hashNumber } from "../../../shared/telephony/phone-number.ts";
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
  await list(row, deps);
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

/** Time for which a process may hash new rows under the former key alone: its settings are at most an hour old. */
const staleMsMax = 2 * hourMs;

/**
 * Puts a row's number onto the list. One that is erased is listed by the row's hash. While HASH_KEY is rotated, a row from
 * before then may be hashed under either key, so its entry counts as the former one's, which must be kept for it.
 */
async function list({ request, numberHash, acceptedAt }: CallRow, deps: DialerDeps): Promise<void> {
  const { hashKeys } = deps.settings;
  const [current = "", former = current] = namesOf(hashKeys);
  if (request !== null) {
    const { numberHash: hash } = hashNumber(request.phone_number, hashKeys.current);
    return putEntries([hash], current, deps);
  }
  const read = await deps.documents.read([doNotCallListKey]);
  const since = findCurrentSince(read, hashKeys) ?? Infinity;
  return putEntries([numberHash], acceptedAt > since + staleMsMax ? current : former, deps);
}
