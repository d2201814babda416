import type { CallRow } from "#shared/calls/call-row.ts";
import { toHeadersView, toResultView, toTestView, toCallBackView } from "#shared/calls/views.ts";
import {
  countsViewSchema,
  headersView,
  resultViewSchema,
  testView,
  callBackView,
} from "#shared/calls/view-schemas.ts";
import { isCallBackNext } from "#shared/calls/chain.ts";
import { toCallId, indexOf, readCallId, requestIdOf } from "#shared/calls/ids.ts";
import { states } from "#shared/calls/states.ts";
import * as z from "#shared/lib/zod.ts";
import { readTries } from "#shared/ports/last-tries.ts";
import { foreignCursor } from "../http/cursors.ts";
import { limit, nextCursor, state, time, toIsoTime } from "../http/fields.ts";
import { answerUnprocessable } from "../http/problem.ts";
import { declareRoute } from "../http/route.ts";
import { findKnownRequest } from "./find-request.ts";
import { countProgress } from "../actions/count-request.ts";
import { callIdsOf } from "../actions/request-rows.ts";

const trySchema = z.looseObject({
  id: z.string(),
  state,
  reason: z.string(),
  due_at: z.nullable(time),
  result: z.nullable(resultViewSchema),
});

/** A call as its client sees it. */
export const clientCallSchema = z
  .looseObject({
    id: z.string(),
    index: z.int().check(z.describe("Its index in the batch, from 0")),
    state,
    reason: z.string(),
    due_at: z
      .nullable(time)
      .check(z.describe("The earliest time of its next step; null once it has ended")),
    result: z
      .nullable(resultViewSchema)
      .check(z.describe("Outcome of a placed call; null: not known, or not asked for")),
    tries: z
      .optional(z.array(trySchema))
      .check(
        z.describe(
          "Of an agent with `retry` or `callBacks`: every try of the call, the first one included, and its call-backs. `state`, `reason`, `due_at` and `result` of the call are those of its last try before a call-back",
        ),
      ),
    call_back: z
      .optional(callBackView)
      .check(z.describe("Of a callee who asked to be called back; absent otherwise")),
  })
  .check(z.meta({ id: "RequestedCall" }));

/** Loose like all of /v1, as fields may be added. */
const requestSchema = z.looseObject({
  id: z.string(),
  accepted_at: time,
  ...headersView,
  ...testView,
  total: z.int().check(z.describe("Calls of the request")),
  counts: z
    .optional(countsViewSchema)
    .check(
      z.describe(
        "Of the calls that are known; those still on the queue are in none. First page only",
      ),
    ),
  finished: z
    .optional(z.boolean())
    .check(
      z.describe(
        "Every call is known, none is WAITING, DIALING or UNKNOWN, and no result is asked for. First page only",
      ),
    ),
  calls: z.array(clientCallSchema).check(z.describe("Known calls, in the order of the batch")),
  cursor: nextCursor,
});

/** A cursor in the calls of a request: the id of the last call that was looked at. */
export const requestCursor = z.pipe(
  z.string().check(z.refine((text) => readCallId(text) !== undefined, foreignCursor)),
  z.transform((text) => readCallId(text) ?? text),
);

export const showRequest = declareRoute({
  operationId: "showRequest",
  summary: "Show the outcome of a request's calls",
  method: "get",
  path: "/requests/:id",
  query: z.strictObject({
    cursor: z.optional(requestCursor),
    limit,
  }),
  answer: requestSchema,
  problems: [403, 404],
  async handle({ c, deps, query }) {
    const row = await findKnownRequest(c, deps);
    if (row instanceof Response) return row;
    const id = requestIdOf(row.id);
    const { cursor } = query;
    if (cursor !== undefined && requestIdOf(cursor) !== id) {
      return answerUnprocessable(c, [{ pointer: "/cursor", detail: foreignCursor }]);
    }
    const total = row.batchCalls;
    const from = cursor === undefined ? 0 : indexOf(cursor) + 1;
    const end = Math.min(total, from + query.limit);
    const ids = callIdsOf(id, from, end);
    const { rows } = await deps.ledger.read(ids);
    const tries = await readTries(rows, (some) => deps.ledger.read(some));
    const lastTries = () => [...tries.values()].flatMap((all) => beforeCallBack(all).at(-1) ?? []);
    const progress = () =>
      end === total
        ? countProgress(lastTries(), total, deps.clock.now())
        : deps.progress.of(id, total);
    return {
      id,
      accepted_at: toIsoTime(row.acceptedAt),
      ...toHeadersView(row),
      ...toTestView(row),
      total,
      ...(cursor === undefined ? await progress() : {}),
      calls: ids.flatMap((one) => toClientCalls(one, tries.get(one))),
      ...(end < total ? { cursor: toCallId(id, end - 1) } : {}),
    };
  },
});

/** Returns the tries up to the one whose callee was promised a call-back. */
function beforeCallBack<Row extends Pick<CallRow, "callBack">>(tries: readonly Row[]): Row[] {
  const end = tries.findIndex(isCallBackNext);
  return tries.slice(0, end === -1 ? tries.length : end + 1);
}

/** Returns the view of a call by its tries, the first one first; empty where none is known. */
export function toClientCalls(
  id: string,
  tries: readonly CallRow[] = [],
): z.infer<typeof clientCallSchema>[] {
  const last = beforeCallBack(tries).at(-1);
  if (last === undefined) return [];
  const { callBack, next } = last;
  const promise = callBack === undefined ? {} : { call_back: toCallBackView({ callBack, next }) };
  const call = { ...toTryView(last), ...promise, id, index: indexOf(id) };
  return [last.tries === undefined ? call : { ...call, tries: tries.map(toTryView) }];
}

function toTryView({ id, state: now, reason, dueAt, result }: CallRow) {
  const due_at = toIsoTime(states[now].lane === "results" ? null : dueAt);
  return { id, state: now, reason, due_at, result: result && toResultView(result) };
}
