import type { Context } from "hono";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import { type CallAction, statesWhere } from "../../../shared/calls/states.ts";
import { applyAction, type OperatorAction } from "../../../shared/calls/transitions.ts";
import { addCounts } from "../../../shared/policy/state-counts.ts";
import { appendEntry, cancelledCallEntry } from "../../../shared/policy/journal-entries.ts";
import type { CallLedger, Change } from "../../../shared/ports/ledger.ts";
import type { ApiEnv, RouteDeps } from "../http/context.ts";
import { causeForLog } from "../http/port-limits.ts";
import { answerProblem } from "../http/problem.ts";
import { recordAction } from "./audit-log.ts";

/**
 * Writes an operator's action over the row that was read, and into the audit log under `name`. Returns the resulting
 * row, or that of another write that came first.
 */
export async function changeCall(
  c: Context<ApiEnv>,
  { row, action, name }: { row: CallRow; action: OperatorAction; name: string },
  deps: RouteDeps,
): Promise<CallRow> {
  const { clock, random } = deps;
  const write = { version: random.version(), at: clock.now() };
  const next = applyAction(row, { action, by: c.get("caller").tokenId }, write);
  if (next === undefined) return row;
  await recordAction(c, { action: name, target: row.id }, deps);
  if (action.to === "CANCELLED") {
    // The order ends the call again if a restore brings its row back. It comes before the row is written: a request that is
    // repeated finds the call cancelled, and changes nothing.
    const order = { at: write.at, by: c.get("caller").tokenId, client: null };
    const { retentionMs } = deps;
    await appendEntry(cancelledCallEntry(row.id, { ...order, retentionMs }), deps);
  }
  const { ledger } = deps;
  if (await isWritten({ next, seen: row.version }, ledger)) {
    await countActions([next], deps);
    return next;
  }
  return (await ledger.read([row.id])).rows.get(row.id) ?? row;
}

/** Writes one row. If the write's answer is lost, reads the row. */
async function isWritten(change: Change, ledger: CallLedger): Promise<boolean> {
  const { id, version } = change.next;
  try {
    const [done] = await ledger.write([change]);
    return done === true;
  } catch (error) {
    const current = (await ledger.read([id])).rows.get(id);
    if (current?.version === version) return true;
    throw error;
  }
}

/** Adds written rows to the hourly counts. A failure leaves the counts too low, with no other effect. */
export async function countActions(rows: readonly CallRow[], deps: RouteDeps): Promise<void> {
  const reached = rows.map(({ state }) => state);
  try {
    await addCounts(
      reached,
      { at: deps.clock.now(), retentionMs: deps.retentionMs },
      deps.documents,
    );
  } catch (error) {
    deps.log("warning", "counts.update_failed", {
      count: reached.length,
      error: causeForLog(error),
    });
  }
}

/** Returns 409: the call's state does not allow this action. */
export function answerConflict(c: Context, { state }: CallRow, action: CallAction): Response {
  const from = statesWhere(({ actions }) => actions.includes(action));
  return answerProblem(c, 409, {
    detail: `The call is ${state}; this is for calls that are ${from.join(" or ")}.`,
  });
}
