import { type CallRow, headersOf } from "#shared/calls/call-row.ts";
import { toCallId, requestIdOf, withCalls } from "#shared/calls/ids.ts";
import type { RouteDeps } from "../api/http/context.ts";
import * as z from "#shared/lib/zod.ts";
import type { CallsMessage } from "#shared/ports/call-messages.ts";
import { causeForLog, enqueue } from "../api/http/port-limits.ts";
import { answerProblem, answerUnprocessable } from "../api/http/problem.ts";
import { answerChanged, answerConflict, changeCall } from "../api/actions/change-call.ts";
import { findCall } from "./find-call.ts";
import { seenAt } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";

const redialedSchema = z
  .strictObject({ id: z.string(), redial_of: z.string() })
  .check(z.meta({ id: "Redialed" }));

/**
 * Replaces a call by a new one. The row is written first, with the id of the new call. A repeated request enqueues
 * the same new call again, which is dialed once.
 */
const redialCall = declareRoute({
  operationId: "redialCall",
  summary: "Make a new call in place of this one",
  method: "post",
  path: "/calls/:id/redial",
  body: z.strictObject({
    not_placed: z
      .optional(z.boolean())
      .check(
        z.describe("Of a call that is NEEDS_REVIEW: the operator knows that it was not placed"),
      ),
    updated_at: seenAt,
  }),
  answer: redialedSchema,
  status: 201,
  problems: [404, 409],
  async handle({ c, deps, body }) {
    const row = await findCall(c, deps);
    if (row instanceof Response) return row;
    if (row.state === "NEEDS_REVIEW" && body.not_placed !== true) {
      const detail = "must be true: the call may have been placed, and would be made twice";
      return answerUnprocessable(c, [{ pointer: "/not_placed", detail }]);
    }
    const { updated_at: seen = row.updatedAt } = body;
    if (row.state !== "REDIALED" && seen !== row.updatedAt) return answerChanged(c);
    // A row whose number is erased must not name a call that never comes.
    if (row.state !== "REDIALED" && row.request === null) return answerConflict(c, row, "redial");
    // The new call belongs to this request, whose X-Request-Id the 201 has.
    const redialedAs = toRedialId(c.get("requestId"), deps);
    const redialed =
      row.state === "REDIALED"
        ? row
        : await changeCall(
            c,
            { row, action: { to: "REDIALED", redialedAs }, name: "redial" },
            deps,
          );
    const message = redialMessageOf(redialed);
    if (message === undefined) return answerConflict(c, redialed, "redial");
    try {
      await enqueue(deps.queue, message);
    } catch (error) {
      const fields = { request_id: c.get("requestId"), call_id: row.id };
      deps.log("alarm", "queue.unreachable", { ...fields, error: causeForLog(error) });
      const detail = "The queue did not confirm the call. Redial it again: it will be made once.";
      return answerProblem(c, 503, { detail, headers: { "retry-after": "5" } });
    }
    c.header("x-request-id", message.requestId);
    if (message.requestId !== requestIdOf(redialedAs)) c.header("idempotency-replayed", "true");
    return { id: toCallId(message.requestId, 0), redial_of: row.id };
  },
});

export const redialRoutes = [redialCall];

/**
 * Returns the id of the call that replaces another. The id is marked as accepted, so that its client may cancel the
 * request while it is still on the queue.
 */
export function toRedialId(requestId: string, { settings }: Pick<RouteDeps, "settings">): string {
  return toCallId(settings.issuedIds.mark(withCalls(requestId, 1)), 0);
}

/**
 * Returns the message of the call that replaces a row's call, always the same. Weeks later the message is too old to
 * be dialed, even if the ledger has purged the call.
 */
export function redialMessageOf(row: CallRow): CallsMessage | undefined {
  const { id, state, redialedAs, request, ancestors, client, mode, updatedAt } = row;
  if (state !== "REDIALED" || redialedAs === null || request === null) return undefined;
  return {
    kind: "calls",
    requestId: requestIdOf(redialedAs),
    client,
    mode,
    acceptedAt: updatedAt,
    ...headersOf(row),
    ancestors: [...ancestors, id],
    calls: [{ index: 0, request }],
  };
}
