import { isTestClient } from "../../../shared/calls/ids.ts";
import { states } from "../../../shared/calls/states.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { withPortLimits } from "../runtime/time-limits.ts";
import { dayMs } from "../../../shared/lib/units.ts";

const pageRows = 500;
/** Maximum pages of rows per purge. The rest is left to the next purge, an hour later. */
const pagesMax = 100;

/**
 * Deletes rows of calls accepted longer ago than the retention, and expired documents. Unresolved calls are logged
 * first, so that none disappears silently. Runs once an hour in a separate invocation. Never throws.
 */
export async function purge(deps: DialerDeps, deadline: number): Promise<void> {
  const { log } = deps;
  try {
    const ready = withPortLimits(deps);
    await purgeRows(ready, deadline);
    await ready.documents.purge();
  } catch (error) {
    log("alarm", "purge.failed", { error: errorForLog(error) });
  }
}

async function purgeRows(
  { ledger, clock, settings, log }: DialerDeps,
  deadline: number,
): Promise<void> {
  const before = clock.now() - settings.plan.retentionDays * dayMs;
  let after: string | undefined;
  for (let page = 0; page < pagesMax && clock.now() < deadline - 10_000; page++) {
    const { rows, next } = await ledger.ended({ before, after, limit: pageRows });
    const unresolved = rows.filter(({ state }) => states[state].purge === "alarm");
    const read = await ledger.readWithoutContext(unresolved.map(({ id }) => id));
    for (const { id, state } of unresolved) {
      const isTest = isTestClient(read.rows.get(id)?.client ?? "");
      log(isTest ? "info" : "alarm", "call.purged", { call_id: id, state, reason: "retention" });
    }
    await ledger.purge(rows.map(({ id }) => id));
    if (next === undefined) return;
    after = next;
  }
}
