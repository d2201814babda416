import { errorForLog } from "../../shared/platform/log.ts";
import { type DialerDeps, type ReadyDeps, readyDeps } from "./dialer.ts";

const pageRows = 500;
/** Rows that one purge deletes; the rest is left to the next, an hour later. */
const pagesMax = 100;

/**
 * Deletes rows of calls that were accepted longer ago than the retention, and documents that have expired. What nobody
 * has resolved is said first, so that it never goes in silence. Runs once an hour, in an invocation of its own. Never
 * throws.
 */
export async function purge(deps: DialerDeps, deadline: number): Promise<void> {
  const { settings, log } = deps;
  if ("problem" in settings) return;
  try {
    const ready = readyDeps(deps, settings.value);
    await purgeRows(ready, deadline);
    await ready.documents.purge();
  } catch (error) {
    log("alarm", "purge.failed", { error: errorForLog(error) });
  }
}

async function purgeRows(
  { ledger, clock, settings, log }: ReadyDeps,
  deadline: number,
): Promise<void> {
  const before = clock.now() - settings.plan.retentionDays * 86_400_000;
  let after: string | undefined;
  for (let page = 0; page < pagesMax && clock.now() < deadline - 10_000; page++) {
    const { rows, next } = await ledger.ended({ before, after, limit: pageRows });
    for (const { id, state } of rows) {
      if (state === "NEEDS_REVIEW" || state === "UNKNOWN") {
        log("alarm", "call.purged", { call_id: id, state, reason: "retention" });
      }
    }
    await ledger.purge(rows.map(({ id }) => id));
    if (next === undefined) return;
    after = next;
  }
}
