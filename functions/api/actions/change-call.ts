import { requireReadable } from "#shared/ports/unreadable.ts";
import type { Context } from "hono";
import type { CallRow } from "#shared/calls/call-row.ts";
import { type CallAction, statesWhere } from "#shared/calls/states.ts";
import { applyAction, type OperatorAction } from "#shared/calls/transitions.ts";
import { addUsage, rowStep } from "#shared/policy/usage.ts";
import { gatherAbove } from "#shared/policy/gathered-entries.ts";
import { appendEntry, cancelledCallEntry } from "#shared/policy/journal-entries.ts";
import type { CallLedger, Change } from "#shared/ports/ledger.ts";
import type { ApiEnv, RouteDeps } from "../http/context.ts";
import { causeForLog } from "../http/port-limits.ts";
import { answerProblem } from "../http/problem.ts";
import { writerOf } from "./writer.ts";
import { recordAction } from "./audit-log.ts";

/** Maximum writes of an action while other writes, such as delivered events, change the row but not its state. */
const writesMax = 3;

/**
 * Writes an operator's action over the row that was read, and into the audit log under `name`. Returns the resulting
 * row, or that of another write that came first and changed the call's state.
 */
export async function changeCall(
  c: Context<ApiEnv>,
  { row, action, name }: { row: CallRow; action: OperatorAction; name: string },
  deps: RouteDeps,
): Promise<CallRow> {
  const { clock, random, ledger, retentionMs } = deps;
  const by = c.get("caller").tokenId;
  let current = row;
  for (let writes = 0; writes < writesMax && current.state === row.state; writes++) {
    const write = { version: random.version(), at: clock.now() };
    const next = applyAction(current, { action, by }, write);
    if (next === undefined) return current;
    if (writes === 0) await recordAction(c, { action: name, target: row.id }, deps);
    if (writes === 0 && action.to === "CANCELLED") {
      // The order cancels the call again if a restore brings its row back. The order is written before the row, so a
      // repeated request finds the call cancelled and changes nothing.
      const order = { at: write.at, by, client: null, retentionMs };
      const journal = gatherAbove(writerOf(c), deps);
      await appendEntry(cancelledCallEntry(row.id, order), { ...deps, journal });
    }
    if (await isWritten({ next, seen: current.version }, ledger)) {
      await countActions([next], deps);
      return next;
    }
    current = requireReadable((await ledger.read([row.id])).get(row.id)) ?? row;
  }
  return current;
}

/** Writes one row. If the write's answer is lost, reads the row. */
async function isWritten(change: Change, ledger: CallLedger): Promise<boolean> {
  const { id, version } = change.next;
  try {
    const [done] = await ledger.write([change]);
    return done === true;
  } catch (error) {
    const { rows } = await ledger.read([id]);
    if (rows.some((row) => row.version === version)) return true;
    throw error;
  }
}

/** Adds rows that have entered a state to the usage of the hour. A failure leaves the counts too low, with no other effect. */
export async function countActions(rows: readonly CallRow[], deps: RouteDeps): Promise<void> {
  const { clock, retentionMs, plan, documents } = deps;
  const at = clock.now();
  const steps = rows.map((row) => rowStep(row, at));
  const hour = { at, retentionMs, known: new Map(), agents: plan.agents };
  await addUsage(steps, hour, documents).catch((error: unknown) => {
    deps.log("warning", "counts.update_failed", { count: rows.length, error: causeForLog(error) });
  });
}

/** Returns 409: the call has changed since it was shown to the person who decides. */
export function answerChanged(c: Context): Response {
  const detail = "The call has changed since it was shown. Look at it again.";
  return answerProblem(c, 409, { detail });
}

/**
 * Returns 409: the call's state does not allow this action, its number is erased, or other writers keep changing its
 * row.
 */
export function answerConflict(
  c: Context,
  { state, request }: CallRow,
  action: CallAction,
): Response {
  const from = statesWhere(({ actions }) => actions.includes(action));
  const isAllowed = from.includes(state);
  if (isAllowed && request === null) {
    return answerProblem(c, 409, { detail: "The call's number is erased." });
  }
  const detail = isAllowed
    ? "The call changed while this was done. Do it again."
    : `The call is ${state}; this is for calls that are ${from.join(" or ")}.`;
  return answerProblem(c, 409, { detail });
}
