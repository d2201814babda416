import type { Context } from "hono";
import type { CallRow, CallState } from "../../../shared/calls/call-row.ts";
import { acted, actedFrom, type OperatorAct } from "../../../shared/calls/state-machine.ts";
import { addCounts } from "../../../shared/documents/counts.ts";
import type { CallLedger, Change } from "../../../shared/ledger/call-ledger.ts";
import { randomVersion } from "../../../shared/platform/random-id.ts";
import * as z from "../../../shared/platform/zod.ts";
import type { ApiEnv, RouteDeps } from "../context.ts";
import { causeForLog } from "../port-limits.ts";
import { problem } from "../problem.ts";
import { record } from "./audit.ts";
import { type CallView, callViewSchema, viewOf } from "./call-view.ts";
import { findCall } from "./find-call.ts";
import { declareRoute } from "../route.ts";

/** Cancels a waiting call. A call that is NEEDS_REVIEW is resolved instead, as it may have been placed. */
const cancelCall = declareRoute({
  operationId: "cancelCall",
  summary: "Cancel a waiting call",
  method: "post",
  path: "/calls/:id/cancel",
  answer: callViewSchema,
  problems: [404, 409],
  async handle({ c, deps }) {
    const row = await findCall(c, deps);
    if (row instanceof Response) return row;
    return decide(c, deps, row, { to: "CANCELLED", from: ["WAITING"], name: "cancel" });
  },
});

const resolveCall = declareRoute({
  operationId: "resolveCall",
  summary: "Say what a call that is NEEDS_REVIEW was",
  method: "post",
  path: "/calls/:id/resolve",
  body: z.strictObject({ outcome: z.enum(["placed", "not_placed"]) }),
  answer: callViewSchema,
  problems: [404, 409],
  async handle({ c, deps, body }) {
    const row = await findCall(c, deps);
    if (row instanceof Response) return row;
    const isPlaced = body.outcome === "placed";
    const to = isPlaced ? "PLACED" : "CANCELLED";
    const name = isPlaced ? "mark_placed" : "close";
    return decide(c, deps, row, { to, from: actedFrom.PLACED, name });
  },
});

export const decisionRoutes = [cancelCall, resolveCall];

/** Carries an operator's decision out, or returns the conflict. A repeated request has the same answer. */
async function decide(
  c: Context<ApiEnv>,
  deps: RouteDeps,
  row: CallRow,
  { to, from, name }: { to: "PLACED" | "CANCELLED"; from: readonly CallState[]; name: string },
): Promise<CallView | Response> {
  if (row.state === to) return viewOf(row);
  if (!from.includes(row.state)) return conflict(c, row, from);
  const now = await act(c, deps, row, { to }, name);
  return now.state === to ? viewOf(now) : conflict(c, now, from);
}

/**
 * Writes an operator's decision over the row as it was read. Returns the row that stands thereafter: if another write
 * came first, the row of that write.
 */
export async function act(
  c: Context<ApiEnv>,
  deps: RouteDeps,
  row: CallRow,
  decision: OperatorAct,
  name: string,
): Promise<CallRow> {
  const { clock, randomId } = deps;
  const write = { version: randomVersion(randomId()), at: clock.now() };
  const next = acted(row, decision, c.get("caller").tokenId, write);
  if (next === undefined) return row;
  await record(c, deps, name, row.id);
  const { ledger } = deps;
  if (await isWritten({ next, seen: row.version }, ledger)) {
    await countActs([next], deps);
    return next;
  }
  return (await ledger.read([row.id])).rows.get(row.id) ?? row;
}

/** Writes one row. If the answer of the write is lost, the row is read. */
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

/** Adds written rows to the counts by hour. A failure leaves the counts too low, and has no other effect. */
export async function countActs(rows: readonly CallRow[], deps: RouteDeps): Promise<void> {
  const states = rows.map(({ state }) => state);
  try {
    await addCounts(deps.documents, states, deps.clock.now(), deps.retentionMs);
  } catch (error) {
    deps.log("warning", "counts.lost", { count: states.length, error: causeForLog(error) });
  }
}

/** Returns 409: the call is in another state. */
export function conflict(c: Context, { state }: CallRow, from: readonly CallState[]): Response {
  return problem(c, 409, `The call is ${state}; this is for calls that are ${from.join(" or ")}.`);
}
