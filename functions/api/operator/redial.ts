import type { Context } from "hono";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import { callIdOf, requestIdOf } from "../../../shared/calls/ids.ts";
import { actedFrom } from "../../../shared/calls/state-machine.ts";
import type { CallsMessage } from "../../../shared/queue/messages.ts";
import type { ApiEnv, OperatorDeps } from "../context.ts";
import { causeForLog, enqueue } from "../port-limits.ts";
import { problem, unprocessable } from "../problem.ts";
import { act, conflict } from "./decisions.ts";

/**
 * Has another call made in a call's stead. The row is written first, with the id of the new call: whoever asks again
 * has that same call enqueued again, which is made once.
 *
 * @param isNotPlaced the operator knows that a call that is NEEDS_REVIEW was not placed
 */
export async function redial(
  c: Context<ApiEnv>,
  deps: OperatorDeps,
  row: CallRow,
  isNotPlaced: boolean,
): Promise<Response> {
  if (row.state === "NEEDS_REVIEW" && !isNotPlaced) {
    const detail = "must be true: the call may have been placed, and would be made twice";
    return unprocessable(c, [{ pointer: "/not_placed", detail }]);
  }
  // The new call belongs to this request: whoever has the X-Request-Id of the 201 knows the id of its call.
  const redialedAs = callIdOf(c.get("requestId"), 0);
  const redialed =
    row.state === "REDIALED"
      ? row
      : await act(c, deps, row, { to: "REDIALED", redialedAs }, "redial");
  const message = messageOf(redialed);
  if (message === undefined) return conflict(c, redialed, actedFrom.REDIALED);
  try {
    await enqueue(deps.queue, message);
  } catch (error) {
    const fields = { request_id: c.get("requestId"), call_id: row.id };
    deps.log("alarm", "queue.unreachable", { ...fields, error: causeForLog(error) });
    const detail = "The queue did not confirm the call. Redial it again: it will be made once.";
    return problem(c, 503, detail, { headers: { "retry-after": "5" } });
  }
  if (message.requestId !== c.get("requestId")) {
    c.header("x-request-id", message.requestId);
    c.header("idempotency-replayed", "true");
  }
  return c.json({ id: callIdOf(message.requestId, 0), redial_of: row.id }, 201);
}

/**
 * The message that brings the call made in a row's stead: the same whenever it is asked for. Weeks later it is too old
 * to be dialed, though the ledger may have forgotten that call.
 */
function messageOf(row: CallRow): CallsMessage | undefined {
  const { id, state, redialedAs, request, ancestors, client, updatedAt } = row;
  if (state !== "REDIALED" || redialedAs === null || request === null) return undefined;
  return {
    kind: "calls",
    requestId: requestIdOf(redialedAs),
    client,
    acceptedAt: updatedAt,
    ancestors: [...ancestors, id],
    calls: [{ index: 0, request }],
  };
}
