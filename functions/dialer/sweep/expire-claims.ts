import { expireClaim } from "#shared/calls/transitions.ts";
import type { RowDeps } from "../runtime/context.ts";
import { changeRows } from "../record/change-rows.ts";
import { unknownDueAt } from "../record/due-times.ts";

/** Maximum calls under way that are read, and maximum rows of one write. */
const dialingMax = 5_000;
const pageRows = 500;

/** Turns calls UNKNOWN whose claims have lapsed. Resolves to true if all calls under way were checked. */
export async function expireClaims(deps: RowDeps): Promise<boolean> {
  const { ledger, clock, random, log } = deps;
  const calls = await ledger.dialing(dialingMax);
  const late = calls.filter(({ dueAt }) => dueAt <= clock.now());
  for (let start = 0; start < late.length; start += pageRows) {
    const ids = late.slice(start, start + pageRows).map(({ id }) => id);
    const { rows, unreadable } = await ledger.read(ids);
    for (const id of unreadable) log("alarm", "row.unreadable", { call_id: id });
    await changeRows(
      rows,
      (row, write) => {
        const at = { now: write.at, fraction: random.fraction() };
        return expireClaim(row, unknownDueAt(row, at, deps), write);
      },
      deps,
    );
  }
  return calls.length < dialingMax;
}
