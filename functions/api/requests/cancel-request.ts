import type { RouteDeps } from "../http/context.ts";
import type { CallState } from "#shared/calls/states.ts";
import { batchCallsMax } from "#shared/calls/call-request.ts";
import { toCallId } from "#shared/calls/ids.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import * as z from "#shared/lib/zod.ts";
import { recordAction } from "../actions/audit-log.ts";
import {
  cancelledSchema,
  cancelPages,
  countOrdered,
  giveOrder,
  pageRows,
  findControl,
} from "../actions/cancel-calls.ts";
import { callCursor } from "../http/cursors.ts";
import { answerUnprocessable } from "../http/problem.ts";
import { declareRoute } from "../http/route.ts";
import { findRequest, type FoundRequest } from "./find-request.ts";
import { dayMs } from "#shared/lib/units.ts";

/** Time for which the queue keeps a message. The calls of a request may have no rows for so long. */
const queuedMsMax = 14 * dayMs;
/** The highest index that a call's id can hold. */
const indexMax = 99_999;

/**
 * Cancels the waiting calls of a request, or some of them. A request without rows may be on the queue, so the order
 * is stored and cancels its calls when they arrive, if they belong to the caller. Another client's request is
 * answered in the same way.
 */
export const cancelRequest = declareRoute({
  operationId: "cancelRequest",
  summary: "Cancel the waiting calls of a request, or some of them",
  method: "post",
  path: "/requests/:id/cancel",
  body: z.strictObject({
    indexes: z
      .optional(
        z
          .array(z.int().check(z.minimum(0), z.maximum(indexMax)))
          .check(z.minLength(1), z.maxLength(batchCallsMax)),
      )
      .check(z.describe("Indexes in the batch of the calls to be cancelled; absent: all")),
    cursor: z
      .optional(callCursor)
      .check(z.describe("Of the answer before, sent with the same `indexes` while there is one")),
  }),
  isBodyOptional: true,
  answer: z.looseObject(cancelledSchema.shape),
  problems: [403, 404],
  async handle({ c, deps, body: { indexes, cursor } }) {
    const found = await findRequest(c, deps, queuedMsMax);
    if (found instanceof Response) return found;
    const { id, row } = found;
    const what = { request: id };
    const scope = { client: c.get("caller").client, indexes };
    const target = `request ${id}`;
    if (cursor === undefined && (await isRequestOver(found, deps)))
      return { cancelled: 0, ordered: 0 };
    if (cursor === undefined)
      await recordAction(c, { action: "client_cancel", target, count: indexes?.length }, deps);
    const given = await (cursor === undefined
      ? giveOrder(c, { what, scope }, deps)
      : findControl(what, scope, deps));
    if (given === undefined) {
      const detail = "must be from an answer to the same request";
      return answerUnprocessable(c, [{ pointer: "/cursor", detail }]);
    }
    const { ledger } = deps;
    const { cancelled, next } =
      row === undefined
        ? { cancelled: 0 }
        : await cancelPages(
            c,
            {
              given,
              before: cursor,
              pageBelow: (before) =>
                indexes === undefined
                  ? ledger.list({ requestId: id, before, limit: pageRows })
                  : readPage(id, { indexes, before }, ledger),
            },
            deps,
          );
    deps.progress.forget(id);
    const more = next === undefined ? {} : { cursor: next };
    if (cursor !== undefined) {
      if (row !== undefined)
        await recordAction(c, { action: "client_cancel", target, count: cancelled }, deps);
      return { cancelled, ...more };
    }
    const named = { requestId: id, row, indexes };
    return { cancelled, ordered: await countOrdered(named, { given, cancelled }, ledger), ...more };
  },
});

/** States in which an order can no longer cancel a call, and an operator can no longer redial it. */
const overStates: ReadonlySet<string> = new Set(["PLACED", "CANCELLED"] satisfies CallState[]);

/** True if all calls of a request are finished, so that an order for them is useless. */
async function isRequestOver({ id, row }: FoundRequest, { progress }: RouteDeps): Promise<boolean> {
  if (row === undefined || !overStates.has(row.state)) return false;
  progress.forget(id); // a cached count may lack a redial
  const { counts, finished } = await progress.of(id, row.batchCalls);
  if (counts.promised !== undefined) return false;
  return finished && Object.keys(counts.by_state).every((state) => overStates.has(state));
}

/** Reads the rows of a page of named calls, highest indexes first. */
async function readPage(
  requestId: string,
  { indexes, before }: { indexes: readonly number[]; before: string | undefined },
  ledger: CallLedger,
) {
  const ids = [...new Set(indexes)]
    .map((index) => toCallId(requestId, index))
    .filter((id) => before === undefined || id < before)
    .toSorted()
    .toReversed();
  const page = ids.slice(0, pageRows);
  const { rows } = await ledger.read(page);
  return {
    rows,
    ...(page.length < ids.length ? { next: page.at(-1) } : {}),
  };
}
