import { hashedNumberOf } from "#shared/calls/ids.ts";
import { clientEntryOf } from "#shared/policy/number-entries.ts";
import { renewNumbers } from "#shared/policy/dnc-entries.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import { errorForLog } from "#shared/lib/log.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { ToWrite } from "./write-decisions.ts";

/**
 * Moves the do-not-call entries of calls that are refused now from the former HASH_KEY, or a former spelling, to the current one. Never
 * throws: the next call moves the rest.
 *
 * @param read documents by which the calls were refused
 */
export async function renewEntries(
  writes: readonly ToWrite[],
  read: DocumentsRead,
  deps: Pick<DialerDeps, "settings" | "documents" | "clock" | "random" | "log">,
): Promise<void> {
  const { numbers } = deps.settings;
  const entries = writes.flatMap(({ call, decided }) => {
    if (decided.reason !== "do_not_call") return [];
    const hashes = numbers.own(hashedNumberOf(call));
    return [hashes, hashes.map((hash) => clientEntryOf(hash, call.client))];
  });
  const isFormer = ([, ...others]: string[]) =>
    others.some((key) => read.get("do-not-call", key) !== undefined);
  const former = [...new Map(entries.filter(isFormer).map((one) => [one[0], one])).values()];
  if (former.length === 0) return;
  try {
    await renewNumbers(former, deps);
  } catch (error) {
    deps.log("warning", "do_not_call.renewal_failed", { error: errorForLog(error) });
  }
}
