import { resultStatuses } from "#shared/calls/call-result.ts";
import { indexOf, requestIdOf, toCallId } from "#shared/calls/ids.ts";
import * as z from "#shared/lib/zod.ts";
import { readTries } from "#shared/ports/last-tries.ts";
import { callIdsOf } from "../actions/request-rows.ts";
import { foreignCursor } from "../http/cursors.ts";
import { limit, nextCursor, state } from "../http/fields.ts";
import { answerUnprocessable } from "../http/problem.ts";
import { declareRoute } from "../http/route.ts";
import { findKnownRequest } from "./find-request.ts";
import { clientCallSchema, requestCursor, toClientCalls } from "./show-request.ts";

/** Calls of one read, and maximum calls that one page looks at. */
const readAtOnce = 200;
const looksMax = 1000;

type ClientCall = z.infer<typeof clientCallSchema>;

export const listRequestCalls = declareRoute({
  operationId: "listRequestCalls",
  summary: "The calls of a request that are in a state, or have a result",
  method: "get",
  path: "/requests/:id/calls",
  query: z.strictObject({
    state: z.optional(state),
    result: z
      .optional(z.enum(resultStatuses))
      .check(z.describe("The `status` of the calls' `result`")),
    cursor: z.optional(requestCursor),
    limit,
  }),
  answer: z.looseObject({
    calls: z
      .array(clientCallSchema)
      .check(z.describe("In the order of the batch. A page may be short, or empty, before others")),
    cursor: nextCursor,
  }),
  problems: [403, 404],
  async handle({ c, deps: { ledger, ...deps }, query }) {
    const row = await findKnownRequest(c, { ledger, ...deps });
    if (row instanceof Response) return row;
    const id = requestIdOf(row.id);
    const { cursor } = query;
    if (cursor !== undefined && requestIdOf(cursor) !== id) {
      return answerUnprocessable(c, [{ pointer: "/cursor", detail: foreignCursor }]);
    }
    const isWanted = (call: ClientCall) =>
      (query.state === undefined || call.state === query.state) &&
      (query.result === undefined || call.result?.status === query.result);
    const total = row.batchCalls;
    const calls: ClientCall[] = [];
    let from = cursor === undefined ? 0 : indexOf(cursor) + 1;
    const end = Math.min(total, from + looksMax);
    while (from < end && calls.length < query.limit) {
      const ids = callIdsOf(id, from, Math.min(end, from + readAtOnce));
      const { rows } = await ledger.read(ids);
      const tries = await readTries(rows, (some) => ledger.read(some));
      const found = ids.flatMap((one) => toClientCalls(one, tries.get(one))).filter(isWanted);
      const page = found.slice(0, query.limit - calls.length);
      calls.push(...page);
      // A full page ends behind its last call, so that the next one begins with what was left out.
      const last = calls.length === query.limit ? page.at(-1)?.index : undefined;
      from = last === undefined ? from + ids.length : last + 1;
    }
    return { calls, ...(from < total ? { cursor: toCallId(id, from - 1) } : {}) };
  },
});
