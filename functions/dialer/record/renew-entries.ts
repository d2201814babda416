import type { DocumentsRead } from "../../../shared/ports/document-kinds.ts";
import { renewNumbers } from "../../../shared/policy/dnc-entries.ts";
import { hashesOf } from "../../../shared/telephony/phone-number.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import type { DialerDeps } from "../runtime/context.ts";

/**
 * Moves the do-not-call entries of numbers from the former HASH_KEY to the current one: calls to them were just refused.
 * Never throws: what is left is moved by the next call.
 *
 * @param read documents by which the calls were refused
 */
export async function renewEntries(
  phoneNumbers: readonly string[],
  read: DocumentsRead,
  deps: DialerDeps,
): Promise<void> {
  const { hashKeys } = deps.settings;
  const numbers = [...new Set(phoneNumbers)].map((number) => hashesOf(number, hashKeys));
  const former = numbers.filter(([, hash]) => hash && read.get("do-not-call", hash) !== undefined);
  if (former.length === 0) return;
  try {
    await renewNumbers(former, deps);
  } catch (error) {
    deps.log("warning", "do_not_call.renewal_failed", { error: errorForLog(error) });
  }
}
