import type { Context } from "hono";
import type { CallRow } from "#shared/calls/call-row.ts";
import { type CallAction, states } from "#shared/calls/states.ts";
import * as z from "#shared/lib/zod.ts";
import type { ApiEnv, RouteDeps } from "../api/http/context.ts";
import { answerChanged, answerConflict, changeCall } from "../api/actions/change-call.ts";
import { type CallView, callViewSchema, toCallView } from "./call-view.ts";
import { findCall } from "./find-call.ts";
import { seenAt } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";

/** Cancels a waiting call. A call in NEEDS_REVIEW may have been placed, so it can only be resolved. */
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
    return decide(c, { to: "CANCELLED", action: "cancel", name: "cancel", row }, deps);
  },
});

const resolveCall = declareRoute({
  operationId: "resolveCall",
  summary: "Decide a call that is NEEDS_REVIEW",
  method: "post",
  path: "/calls/:id/resolve",
  body: z.strictObject({ outcome: z.enum(["placed", "not_placed"]), updated_at: seenAt }),
  answer: callViewSchema,
  problems: [404, 409],
  async handle({ c, deps, body }) {
    const row = await findCall(c, deps);
    if (row instanceof Response) return row;
    const isPlaced = body.outcome === "placed";
    const to = isPlaced ? "PLACED" : "CANCELLED";
    const name = isPlaced ? "mark_placed" : "close";
    return decide(c, { to, action: "resolve", name, row, seenAt: body.updated_at }, deps);
  },
});

export const decisionRoutes = [cancelCall, resolveCall];

interface Decision {
  row: CallRow;
  to: "PLACED" | "CANCELLED";
  action: CallAction;
  /** Name of the action in the audit log. */
  name: string;
  /** `updated_at` of the call as it was shown, in milliseconds since the epoch. */
  seenAt?: number | undefined;
}

/** Executes an operator's decision, or returns the conflict. A repeated request has the same answer. */
async function decide(
  c: Context<ApiEnv>,
  { row, to, action, name, seenAt: seen }: Decision,
  deps: RouteDeps,
): Promise<CallView | Response> {
  if (row.state === to) return toCallView(row);
  if (!states[row.state].actions.includes(action)) return answerConflict(c, row, action);
  if (seen !== undefined && seen !== row.updatedAt) return answerChanged(c);
  const now = await changeCall(c, { row, action: { to }, name }, deps);
  return now.state === to ? toCallView(now) : answerConflict(c, now, action);
}
