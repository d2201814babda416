import type { Context } from "hono";
import type { CallRow, CallState } from "../../../shared/calls/call-row.ts";
import { acted, actedFrom, type OperatorAct } from "../../../shared/calls/state-machine.ts";
import { addCounts } from "../../../shared/documents/counts.ts";
import type { CallLedger, Change } from "../../../shared/ledger/call-ledger.ts";
import { randomVersion } from "../../../shared/platform/random-id.ts";
import type { ApiEnv, OperatorDeps } from "../context.ts";
import { causeForLog } from "../port-limits.ts";
import { problem } from "../problem.ts";
import { record } from "./audit.ts";
import { viewOf } from "./call-views.ts";

/** Cancels a call that waits; one that is NEEDS_REVIEW is resolved, as it may have been placed. */
export async function cancelOne(
  c: Context<ApiEnv>,
  deps: OperatorDeps,
  row: CallRow,
): Promise<Response> {
  return answer(c, deps, row, { to: "CANCELLED", from: ["WAITING"], name: "cancel" });
}

/** Says what a call that is NEEDS_REVIEW was. */
export async function resolve(
  c: Context<ApiEnv>,
  deps: OperatorDeps,
  row: CallRow,
  outcome: "placed" | "not_placed",
): Promise<Response> {
  const isPlaced = outcome === "placed";
  const to = isPlaced ? "PLACED" : "CANCELLED";
  const name = isPlaced ? "mark_placed" : "close";
  return answer(c, deps, row, { to, from: actedFrom.PLACED, name });
}

/** Does what an operator decided, or says what stands in the way. Asked again, it answers as before. */
async function answer(
  c: Context<ApiEnv>,
  deps: OperatorDeps,
  row: CallRow,
  { to, from, name }: { to: "PLACED" | "CANCELLED"; from: readonly CallState[]; name: string },
): Promise<Response> {
  if (row.state === to) return c.json(viewOf(row));
  if (!from.includes(row.state)) return conflict(c, row, from);
  const now = await act(c, deps, row, { to }, name);
  return now.state === to ? c.json(viewOf(now)) : conflict(c, now, from);
}

/**
 * Writes what an operator decided over the row as it was read, and answers with the row that stands thereafter: where
 * another write came first, that one's.
 */
export async function act(
  c: Context<ApiEnv>,
  deps: OperatorDeps,
  row: CallRow,
  decision: OperatorAct,
  name: string,
): Promise<CallRow> {
  const { clock, randomId } = deps;
  const write = { version: randomVersion(randomId()), at: clock.now() };
  const next = acted(row, decision, c.get("caller").tokenId, write);
  if (next === undefined) return row;
  await record(c, deps, name, row.id);
  const ledger = await deps.ledger();
  if (await isWritten({ next, seen: row.version }, ledger)) {
    await countActs([next], deps);
    return next;
  }
  return (await ledger.read([row.id])).rows.get(row.id) ?? row;
}

/** Writes one row; where the answer is lost, whether it was written is read. */
async function isWritten(change: Change, ledger: CallLedger): Promise<boolean> {
  const { id, version } = change.next;
  try {
    const [done] = await ledger.write([change]);
    return done === true;
  } catch (error) {
    const standing = (await ledger.read([id])).rows.get(id);
    if (standing?.version === version) return true;
    throw error;
  }
}

/** Adds rows that have been written to the counts by hour. Where that fails the counts are too low, and no more. */
export async function countActs(rows: readonly CallRow[], deps: OperatorDeps): Promise<void> {
  const states = rows.map(({ state }) => state);
  try {
    await addCounts(await deps.documents(), states, deps.clock.now(), deps.retentionMs);
  } catch (error) {
    deps.log("warning", "counts.lost", { count: states.length, error: causeForLog(error) });
  }
}

/** 409: the call stands otherwise. */
export function conflict(c: Context, { state }: CallRow, from: readonly CallState[]): Response {
  return problem(c, 409, `The call is ${state}; this is for calls that are ${from.join(" or ")}.`);
}
