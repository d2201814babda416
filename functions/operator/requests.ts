import { UnreadableError } from "#shared/ports/unreadable.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { isLaterTry } from "#shared/calls/chain.ts";
import { toCallId, readRequestId, requestIdOf, timeOfId } from "#shared/calls/ids.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import * as z from "#shared/lib/zod.ts";
import { answerProblem } from "../api/http/problem.ts";
import { callIdsOf, lastTriesOf, rowsOf } from "../api/actions/request-rows.ts";
import { type RequestNames, findRequestList, hasNames } from "./list-by-request.ts";
import { declareRoute } from "../api/http/route.ts";
import { lookedUntil, requestNames } from "./calls.ts";
import { callCursor } from "../api/http/cursors.ts";
import { nextCursor, time, toIsoTime } from "../api/http/fields.ts";
import {
  listFinishedIndexes,
  countReasons,
  readEnds,
  toRequestView,
  requestViewSchema,
  type RequestView,
} from "./request-progress.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";
import { slotMinutes } from "#shared/policy/usage-ends.ts";

/** Maximum requests of one answer, and maximum calls of each that are read. */
const listedMax = 50;
const countedMax = 100;
/** Age below which a request's bars are short. */
const youngMs = 3 * hourMs;
/** Rows of one page of the search for requests, and maximum pages of one answer. */
const pageRows = 50;
const answerPages = 20;

const requestsSchema = z.strictObject({
  requests: z.array(requestViewSchema),
  cursor: nextCursor,
  looked_until: lookedUntil,
});
export type Requests = z.infer<typeof requestsSchema>;

/**
 * Rows of a request are neighbours in the order of ids. The search reads some rows, and continues below the request of
 * the last one.
 */
const listRequests = declareRoute({
  operationId: "listRequests",
  summary: `Requests and their progress, newest first; counts are of ${countedMax} calls of each at most`,
  method: "get",
  path: "/requests",
  query: z.strictObject({
    calls_min: z
      ._default(z.coerce.number().check(z.int(), z.minimum(1)), 2)
      .check(z.describe("Requests of at least this number of calls; 2 leaves out single calls")),
    ...requestNames,
    cursor: z.optional(callCursor),
    limit: z._default(z.coerce.number().check(z.int(), z.minimum(1), z.maximum(listedMax)), 20),
  }),
  answer: requestsSchema,
  async handle({ deps, query }) {
    const { ledger, clock } = deps;
    const { found, next } = await requestsBelow(query.cursor, query, ledger);
    const looked = found.map((row) => sampleOf(row, countedMax));
    const rowsBy = new Map<string, CallRow[]>();
    for await (const [first, row] of lastTriesOf(looked.flat(), ledger)) {
      const id = requestIdOf(first);
      rowsBy.set(id, [...(rowsBy.get(id) ?? []), row]);
    }
    const all = found.map(({ id: first, batchCalls: total }) => {
      const id = requestIdOf(first);
      return { id, total, rows: rowsBy.get(id) ?? [] };
    });
    const ends = await readEnds(all, deps);
    const requests = found.map((row, index): RequestView => {
      const { id = "", rows = [] } = all[index] ?? {};
      const counted = looked[index]?.length ?? 0;
      return toRequestView(row, { rows, counted, now: clock.now(), end: ends.get(id) });
    });
    return {
      requests,
      ...(next === undefined ? {} : { cursor: next }),
      looked_until: next === undefined ? null : toIsoTime(timeOfId(next)),
    };
  },
});

const requestDetailSchema = z
  .strictObject({
    ...requestViewSchema.shape,
    reasons: z
      .array(z.strictObject({ reason: z.string(), count: z.int() }))
      .check(z.describe("Of the calls that were not placed, the most frequent first, at most 20")),
    bar_minutes: z
      .int()
      .check(
        z.describe(`Length of each bar: ${slotMinutes} for a request of the last 3 hours, else 60`),
      ),
    bars: z
      .array(z.strictObject({ from: time, placed: z.int(), others: z.int() }))
      .check(z.describe("Calls by the time at which they last changed, without those that wait")),
  })
  .check(z.meta({ id: "OperatorRequestWithBars" }));
export type RequestDetail = z.infer<typeof requestDetailSchema>;

const showRequest = declareRoute({
  operationId: "showOperatorRequest",
  summary: "One request and how far it is, every call of it counted",
  method: "get",
  path: "/requests/:id",
  answer: requestDetailSchema,
  problems: [404],
  async handle({ c, deps }) {
    const { ledger, clock } = deps;
    const id = readRequestId(c.req.param("id") ?? "");
    const page = id === undefined ? undefined : await ledger.list({ requestId: id, limit: 1 });
    const [one] = page?.rows ?? [];
    if (one === undefined && page !== undefined && page.unreadable > 0)
      throw new UnreadableError("a later version has written the request's call");
    if (id === undefined || one === undefined) {
      return answerProblem(c, 404, {
        detail: "There is no request of this id, or none of its calls is known yet.",
      });
    }
    const rows: CallRow[] = [];
    for await (const row of rowsOf(callIdsOf(id, 0, one.batchCalls), ledger)) rows.push(row);
    const end = (await readEnds([{ id, total: one.batchCalls, rows }], deps)).get(id);
    const now = clock.now();
    const minutes = now - one.acceptedAt < youngMs ? slotMinutes : 60;
    return {
      ...toRequestView(one, { rows, counted: one.batchCalls, now, end }),
      reasons: countReasons(rows.filter(({ state }) => state !== "PLACED")),
      bar_minutes: minutes,
      bars: barsOf(rows, minutes * minuteMs),
    };
  },
});

export const requestRoutes = [listRequests, showRequest];

function sampleOf(row: CallRow, most: number): string[] {
  const id = requestIdOf(row.id);
  return listFinishedIndexes(row.batchCalls, most).map((index) => toCallId(id, index));
}

/** Finds requests below an id, newest first, with one row of each. More may follow below `next`. */
async function requestsBelow(
  cursor: string | undefined,
  { calls_min: callsMin, limit, ...names }: RequestNames & { calls_min: number; limit: number },
  ledger: CallLedger,
): Promise<{ found: CallRow[]; next?: string | undefined }> {
  const of = findRequestList(names) ?? { all: true };
  const found: CallRow[] = [];
  let before = cursor;
  for (let page = 0; page < answerPages; page++) {
    const { rows, next } = await ledger.list({ ...of, before, limit: pageRows });
    for (const row of rows) {
      const id = requestIdOf(row.id);
      const first = toCallId(id, 0);
      if (before !== undefined && first >= before) continue; // a call of a request already found
      before = first;
      const isWanted = row.batchCalls >= callsMin && !isLaterTry(row);
      if (isWanted && hasNames(row, names)) found.push(row);
      if (found.length === limit) return { found, next: before };
    }
    if (next === undefined) return { found };
    // Unreadable rows may follow the last readable one.
    if (before === undefined || next < before) before = next;
  }
  return { found, next: before };
}

function barsOf(rows: readonly CallRow[], stepMs: number) {
  const bars = new Map<number, { placed: number; others: number }>();
  for (const { state, updatedAt } of rows) {
    if (state === "WAITING") continue;
    const from = Math.floor(updatedAt / stepMs) * stepMs;
    const counted = bars.get(from) ?? { placed: 0, others: 0 };
    counted[state === "PLACED" ? "placed" : "others"] += 1;
    bars.set(from, counted);
  }
  return [...bars]
    .toSorted(([one], [other]) => one - other)
    .map(([from, counted]) => ({ from: toIsoTime(from), ...counted }));
}
