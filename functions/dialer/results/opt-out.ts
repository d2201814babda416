import { clientNamed, hashedNumberOf, timeOfId } from "#shared/calls/ids.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { Write } from "#shared/calls/transitions.ts";
import { hourMs } from "#shared/lib/units.ts";
import { doNotCallListKey, listIn } from "#shared/policy/number-entries.ts";
import { putEntries, testOptOutMs } from "#shared/policy/dnc-entries.ts";
import { appendListed } from "#shared/policy/journal-entries.ts";
import { keyNameIn } from "#shared/telephony/number-hashes.ts";
import { changeRows } from "../record/change-rows.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";

/**
 * Puts the number of a call onto the do-not-call list, as its callee asked for, and notes it in the row, of
 * which it is an event.
 *
 * @returns false if another writer has changed the row
 * @throws if the ledger could not be reached; asked again, it does what is left
 */
export async function optOut(
  row: CallRow,
  deps: RowDeps & Pick<DialerDeps, "journal">,
): Promise<boolean> {
  if (row.optedOut) return true;
  await listCallee(row, deps);
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

/** Age of a row up to which it may be hashed under a key that only other processes hold: settings are an hour old at most. */
const youngMs = 2 * hourMs;

/**
 * Puts a row's number on the list: under the current key, or by the row's hash once the number is erased. If neither
 * this process nor the list knows the hash's key, another process may know it. The key of an old row is lost, and its
 * number too.
 */
export async function listCallee(
  { id, client, mode, request, numberHash, acceptedAt }: CallRow,
  deps: Pick<DialerDeps, "documents" | "journal" | "settings" | "clock" | "random" | "log">,
): Promise<void> {
  if (request !== null) {
    const number = hashedNumberOf({ client, mode, request });
    return listEntry(deps.settings.numbers.trace(number).numberHash, client, deps);
  }
  await listHash({ id, numberHash, client, acceptedAt }, deps);
}

/**
 * Puts a number on the list by its hash alone. `client` and `acceptedAt` are unknown if its row is lost.
 *
 * @throws if another process may know the hash's key: a later try may succeed
 */
export async function listHash(
  {
    id,
    numberHash,
    client = "",
    acceptedAt = timeOfId(id),
  }: Pick<CallRow, "id" | "numberHash"> & Partial<Pick<CallRow, "client" | "acceptedAt">>,
  deps: Pick<DialerDeps, "documents" | "journal" | "settings" | "clock" | "random" | "log">,
): Promise<void> {
  const { documents, settings, clock, log } = deps;
  const named = listIn(await documents.read([doNotCallListKey]))?.keys ?? [];
  if (![...settings.numbers.keyNames, ...named].includes(keyNameIn(numberHash))) {
    if (acceptedAt > clock.now() - youngMs) throw new Error("the row is hashed under another key");
    log("alarm", "call.opt_out_lost", { call_id: id });
    return;
  }
  await listEntry(numberHash, client, deps);
}

/**
 * Lists a hash, also in the journal, so that a restore of the ledger does not undo the opt-out. Test calls have no
 * callees, so their hashes stay for an hour.
 */
async function listEntry(
  numberHash: string,
  client: string,
  deps: Pick<DialerDeps, "documents" | "journal" | "clock" | "random">,
): Promise<void> {
  const { mode } = clientNamed(client);
  if (mode === "test") return putEntries([numberHash], { ...deps, lifeMs: testOptOutMs });
  await putEntries([numberHash], deps);
  await appendListed([numberHash], deps);
}
