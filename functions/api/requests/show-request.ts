import * as z from "zod";
import { type CallRow, type CallState, callStates } from "../../../shared/calls/call-row.ts";
import { type ResultStatus, resultStatuses } from "../../../shared/calls/call-result.ts";
import type { RouteDeps } from "../context.ts";
import { resultViewOf, resultViewSchema } from "../../../shared/calls/result-view.ts";
import { callIdOf, indexOf, requestIdOf } from "../../../shared/calls/ids.ts";
import { isOver } from "../../../shared/calls/over.ts";
import { foreignCursor } from "../operator/cursors.ts";
import { limit, nextCursor, state, time, timeOf } from "../operator/fields.ts";
import { callIdPattern } from "../operator/find-call.ts";
import { unprocessable } from "../problem.ts";
import { declareRoute } from "../route.ts";
import { findRequest, noRequest } from "./find-request.ts";

/** Rows that are counted at once: a whole request is up to ten times as many. */
const countedAtOnce = 1000;

const clientCallSchema = z
  .looseObject({
    id: z.string(),
    index: z.int().describe("Its place in the batch, from 0"),
    state,
    reason: z.string(),
    due_at: time.nullable().describe("The earliest time of its next step; null once it has ended"),
    result: resultViewSchema
      .nullable()
      .describe("What became of a placed call; null: not known, or not asked for"),
  })
  .meta({ id: "RequestedCall" });

/** Loose like all of /v1: further fields may come. */
const requestSchema = z.looseObject({
  id: z.string(),
  accepted_at: time,
  total: z.int().describe("Calls of the request"),
  counts: z
    .looseObject({
      by_state: z.partialRecord(z.enum(callStates), z.int()),
      by_result: z
        .partialRecord(z.enum(resultStatuses), z.int())
        .describe("Of the placed calls whose result is known"),
    })
    .optional()
    .describe("Of the calls that are known; those still on the queue are in none. First page only"),
  finished: z
    .boolean()
    .optional()
    .describe(
      "Every call is known, none is WAITING, DIALING or UNKNOWN, and no result is asked for. First page only",
    ),
  calls: z.array(clientCallSchema).describe("Known calls, in the order of the batch"),
  cursor: nextCursor,
});

export const showRequest = declareRoute({
  operationId: "showRequest",
  summary: "What became of a request's calls",
  method: "get",
  path: "/:id",
  query: z.strictObject({
    cursor: z.string().regex(callIdPattern, foreignCursor).optional(),
    limit,
  }),
  answer: requestSchema,
  problems: [403, 404],
  async handle({ c, deps, query }) {
    const found = await findRequest(c, deps);
    if (found instanceof Response) return found;
    const { id, row } = found;
    if (row === undefined) return noRequest(c, id, deps.clock.now());
    const { cursor } = query;
    if (cursor !== undefined && requestIdOf(cursor) !== id) {
      return unprocessable(c, [{ pointer: "/cursor", detail: foreignCursor }]);
    }
    const { ledger } = deps;
    const total = row.batchCalls;
    const from = cursor === undefined ? 0 : indexOf(cursor) + 1;
    const end = Math.min(total, from + query.limit);
    const ids = idsOf(id, from, end);
    const { rows } = await ledger.read(ids);
    return {
      id,
      accepted_at: timeOf(row.acceptedAt),
      total,
      ...(cursor === undefined ? await progressOf(id, total, deps) : {}),
      calls: ids.flatMap((one) => rows.get(one) ?? []).map(viewOf),
      ...(end < total ? { cursor: callIdOf(id, end - 1) } : {}),
    };
  },
});

function viewOf({ id, state: now, reason, dueAt, result }: CallRow) {
  const due_at = timeOf(now === "PLACED" ? null : dueAt);
  return {
    id,
    index: indexOf(id),
    state: now,
    reason,
    due_at,
    result: result && resultViewOf(result),
  };
}

/** Counts the rows of a request by state. The ids of all its calls are known, so no index that lags is asked. */
async function progressOf(
  requestId: string,
  total: number,
  { ledger, clock }: Pick<RouteDeps, "ledger" | "clock">,
) {
  const byState: Partial<Record<CallState, number>> = {};
  const byResult: Partial<Record<ResultStatus, number>> = {};
  let ended = 0;
  for (let from = 0; from < total; from += countedAtOnce) {
    const ids = idsOf(requestId, from, Math.min(total, from + countedAtOnce));
    for (const row of (await ledger.read(ids)).rows.values()) {
      byState[row.state] = (byState[row.state] ?? 0) + 1;
      const status = row.result?.status;
      if (status !== undefined) byResult[status] = (byResult[status] ?? 0) + 1;
      if (isOver(row, clock.now())) ended += 1;
    }
  }
  return { counts: { by_state: byState, by_result: byResult }, finished: ended === total };
}

/** Returns the ids of a request's calls from an index on, up to another. */
function idsOf(requestId: string, from: number, end: number): string[] {
  return Array.from({ length: Math.max(0, end - from) }, (_, n) => callIdOf(requestId, from + n));
}
