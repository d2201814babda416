import {
  doNotCallKeyOf,
  doNotCallKeysOf,
  mayMoveEntries,
} from "../../../shared/policy/dnc-list.ts";
import { putEntries } from "../../../shared/policy/dnc-entries.ts";
import { hashesOf } from "../../../shared/telephony/hash-keys.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import type { DialerDeps } from "../runtime/context.ts";

/**
 * Moves the do-not-call entries of numbers from the former HASH_KEY to the current one: calls to them were just refused. An
 * entry is removed only once that under the current key stands. Never throws: what is left is moved by the next call.
 */
export async function renewEntries(
  phoneNumbers: readonly string[],
  deps: DialerDeps,
): Promise<void> {
  const { hashKeys } = deps.settings;
  if (hashKeys.former === undefined || phoneNumbers.length === 0) return;
  try {
    await moveEntries(phoneNumbers, deps);
  } catch (error) {
    deps.log("warning", "do_not_call.renewal_failed", { error: errorForLog(error) });
  }
}

async function moveEntries(phoneNumbers: readonly string[], deps: DialerDeps): Promise<void> {
  const { documents, clock, settings } = deps;
  const { hashKeys } = settings;
  const hashes = [...new Set(phoneNumbers)].map((number) => hashesOf(number, hashKeys));
  const read = await documents.read(doNotCallKeysOf(hashes.flat()));
  if (!mayMoveEntries(read, hashKeys, clock.now())) return;
  const moved = hashes.flatMap(([current = "", former = ""]) => {
    const entry = read.get("do-not-call", former);
    return entry === undefined ? [] : [{ current, entry }];
  });
  await putEntries(
    moved.map(({ current }) => current),
    deps,
  );
  await documents.remove(
    moved.map(({ entry }) => ({ ...doNotCallKeyOf(entry.key), seen: entry.version })),
  );
}
