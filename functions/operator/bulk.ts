import type { Context } from "hono";
import type { CallRow } from "#shared/calls/call-row.ts";
import { createRequestId, firstCallIdAt, timeOfId } from "#shared/calls/ids.ts";
import { type CallAction, type CallState, statesWhere } from "#shared/calls/states.ts";
import type { OperatorAction } from "#shared/calls/transitions.ts";
import * as z from "#shared/lib/zod.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import { changeCalls } from "./change-calls.ts";
import type { ApiEnv, RouteDeps } from "../api/http/context.ts";
import { callCursor, createCursorSchema, toCursor } from "../api/http/cursors.ts";
import { instant, nextCursor, time, toIsoTime } from "../api/http/fields.ts";
import { causeForLog, enqueue } from "../api/http/port-limits.ts";
import { answerProblem, answerUnprocessable } from "../api/http/problem.ts";
import { declareRoute } from "../api/http/route.ts";
import { type CallFilter, filterShape, findList, fitsFilter } from "./calls.ts";
import { scan } from "./scan.ts";
import { redialMessageOf, toRedialId } from "./redial.ts";

/** Maximum calls that one answer looks for, and finds together with their tries. Their ids fit into a cursor. */
const actedMax = 45;
const foundMax = 55;
/** Maximum calls that one answer counts without acting. */
const countedMax = 1000;
/** Tolerated difference of the clocks of two answers. */
const clockSkewMs = 60_000;
/** Messages that are sent at once. */
const sendsAtOnce = 10;

/** Each action of many calls: that of single calls, the state it leads to, and the state that is meant without one. */
const actions = {
  cancel: { action: "cancel", to: "CANCELLED", state: "WAITING" },
  placed: { action: "resolve", to: "PLACED", state: "NEEDS_REVIEW" },
  close: { action: "resolve", to: "CANCELLED", state: "NEEDS_REVIEW" },
  redial: { action: "redial", to: "REDIALED", state: undefined },
} as const satisfies Record<
  string,
  { action: CallAction; to: OperatorAction["to"]; state: CallState | undefined }
>;
const actionNames = ["cancel", "placed", "close", "redial"] as const;
type BulkAction = (typeof actionNames)[number];

/**
 * A position in the work: `ids` were chosen by the answer before, and the next answer acts on them, so that a repeated
 * request acts on the same calls. More may follow below `next`.
 */
const positionSchema = z.strictObject({
  bulk: z.string().check(z.regex(/^[0-9a-f]{12}$/)),
  action: z.enum(actionNames),
  countedAt: z.number(),
  next: z.optional(callCursor),
  ids: z.array(z.string().check(z.regex(/^\w{26}_\d{5}$/))).check(z.maxLength(foundMax)),
});
type Position = z.output<typeof positionSchema>;

const bodySchema = z.strictObject({
  action: z.enum(actionNames),
  filter: z.strictObject(filterShape),
  dry_run: z.optional(z.boolean()).check(z.describe("True: counts the calls, and changes none")),
  counted_at: z
    .optional(instant)
    .check(
      z.describe(
        "That of the answer that counted the calls: one that matches only since then is not changed",
      ),
    ),
  not_placed: z
    .optional(z.boolean())
    .check(z.describe("Of a redial of calls that are NEEDS_REVIEW: none of them was placed")),
  cursor: z.optional(createCursorSchema(positionSchema)),
  limit: z._default(z.int().check(z.minimum(1), z.maximum(actedMax)), actedMax),
});
type Body = z.output<typeof bodySchema>;

const bulkSchema = z.strictObject({
  bulk_id: z.string().check(z.describe("Names the whole work in the audit log")),
  counted_at: time.check(
    z.describe(
      "Only calls that matched before are meant: the time of the first answer, or the given one",
    ),
  ),
  found: z
    .int()
    .check(
      z.describe(
        "Matching calls that this answer has found. It has not changed them: the request with its `cursor` does, unless `dry_run` is true",
      ),
    ),
  done: z.int().check(z.describe("Calls that this answer has changed")),
  refused: z
    .record(z.string(), z.int())
    .check(
      z.describe(
        "Calls that it has not changed, by reason: their state by now; `changed`: others changed them, or they no longer match; `erased`: their number is erased; `gone`: they are deleted; `unreadable`: a later version wrote them",
      ),
    ),
  looked_to: z
    .nullable(time)
    .check(
      z.describe("Calls that were accepted later than this have been looked at; null: all have"),
    ),
  cursor: nextCursor,
});
export type Bulk = z.infer<typeof bulkSchema>;

const actInBulk = declareRoute({
  operationId: "actInBulk",
  summary: "Count, cancel, resolve or redial the calls that match a filter; repeat with `cursor`",
  method: "post",
  path: "/bulk",
  body: bodySchema,
  answer: bulkSchema,
  async handle({ c, deps, body }) {
    const problem = problemOf(body);
    if (problem !== undefined) return answerUnprocessable(c, [problem]);
    const now = deps.clock.now();
    const position: Position = body.cursor ?? {
      bulk: deps.randomId().slice(0, 12),
      action: body.action,
      countedAt: Math.min(now, body.counted_at ?? now),
      ids: [],
    };
    const { countedAt } = position;
    const filter = { ...body.filter, until: Math.min(countedAt, body.filter.until ?? countedAt) };
    const ids = body.dry_run === true ? [] : position.ids.map((id) => `call_${id}`);
    const acted = await act(c, { ids, filter, position }, deps);
    if (acted instanceof Response) return acted;
    const isFirst = body.cursor === undefined;
    const isEnd = !isFirst && position.next === undefined;
    const found = isEnd ? { rows: [] } : await find({ filter, position, body }, deps);
    const { rows, next } = found;
    const { bulk, action } = position;
    const chosen = body.dry_run === true ? [] : rows.map(({ id }) => id.slice("call_".length));
    const place = next === undefined ? {} : { next };
    const following = { bulk, action, countedAt, ...place, ids: chosen };
    return {
      bulk_id: bulk,
      counted_at: toIsoTime(countedAt),
      found: rows.length,
      ...acted,
      looked_to: next === undefined ? null : toIsoTime(timeOfId(next)),
      ...(next === undefined && chosen.length === 0 ? {} : { cursor: toCursor(following) }),
    };
  },
});

export const bulkRoutes = [actInBulk];

/** Returns what is wrong with a request; undefined if nothing is. */
function problemOf({ action, filter, not_placed, cursor }: Body) {
  const { until: _, ...fields } = filter;
  if (Object.values(fields).every((value) => value === undefined)) {
    return {
      pointer: "/filter",
      detail: "must have a field beside until: it would mean every call",
    };
  }
  const from = statesWhere((facts) => facts.actions.includes(actions[action].action));
  const state = stateOf(filter, action);
  if (state === undefined || !from.includes(state)) {
    return { pointer: "/filter/state", detail: `must be ${from.join(" or ")} for this action` };
  }
  if (action === "redial" && state === "NEEDS_REVIEW" && not_placed !== true) {
    const detail = "must be true: the calls may have been placed, and would be made twice";
    return { pointer: "/not_placed", detail };
  }
  if (cursor !== undefined && cursor.action !== action) {
    return { pointer: "/cursor", detail: "must be from an answer to the same action" };
  }
  return undefined;
}

function stateOf(filter: CallFilter, action: BulkAction): CallState | undefined {
  return filter.state ?? actions[action].state;
}

/**
 * True if a row fits a filter, and did so when the calls were counted. One that came into its state later may have
 * rung, and nobody has looked at it. The time of the last change does not tell: a waiting call may be dialed and wait again.
 */
function isMeant(row: CallRow, filter: CallFilter, { countedAt }: Position): boolean {
  const { state, reason, updatedAt, history } = row;
  const last = history.at(-1);
  // A full history lacks the last steps.
  const isWhole = last?.state === state && last.reason === reason;
  const steps = isWhole ? history : [...history, { at: updatedAt, state, reason }];
  const counted = steps.findLast(({ at }) => at < countedAt);
  const isSame =
    counted?.state === state && (filter.reason === undefined || counted.reason === reason);
  return isSame && fitsFilter(row, filter);
}

/** Finds the next calls that fit, newest first. */
async function find(
  { filter, position, body }: { filter: CallFilter; position: Position; body: Body },
  deps: RouteDeps,
): Promise<{ rows: CallRow[]; next?: string | undefined }> {
  const meant = { ...filter, state: stateOf(filter, position.action) };
  const { list, isCursor } = findList(meant, deps);
  return scan(list, {
    before: position.next ?? firstCallIdAt(filter.until ?? position.countedAt),
    from: filter.from ?? 0,
    fits: (row) => isMeant(row, meant, position),
    isCursor,
    limit: body.dry_run === true ? countedMax : body.limit,
  });
}

interface Chunk {
  ids: readonly string[];
  filter: CallFilter;
  position: Position;
}

/** Acts on calls by their ids. Acting once more on the same ids changes nothing, and sends a redial's message again. */
async function act(
  c: Context<ApiEnv>,
  { ids, filter, position }: Chunk,
  deps: RouteDeps,
): Promise<Pick<Bulk, "done" | "refused"> | Response> {
  if (ids.length === 0) return { done: 0, refused: {} };
  const { action, bulk, countedAt } = position;
  const { to } = actions[action];
  const { rows, unreadable } = await deps.ledger.read(ids);
  const by = c.get("caller").tokenId;
  const isDone = (row: CallRow) => row.state === to && isEndedBy(row, { by, from: countedAt });
  const meant = { ...filter, state: stateOf(filter, action) };
  const isOpen = (row: CallRow) =>
    isMeant(row, meant, position) && (action !== "redial" || row.request !== null);
  const open = rows.filter(isOpen);
  const target = `bulk ${bulk}: ${textsOf(filter)}`;
  const name = `bulk_${action}`;
  if (open.length > 0) await recordAction(c, { action: name, target, count: open.length }, deps);
  const actionOf = (): OperatorAction =>
    to === "REDIALED" ? { to, redialedAs: aCallId(deps) } : { to };
  const { changed, others } = await changeCalls(c, { rows: open, actionOf }, deps);
  // An earlier try may have written these rows meanwhile, and have stopped before its messages.
  const done = [...changed, ...[...rows, ...others].filter(isDone)];
  if (!(await areSent(c, done, deps))) {
    const detail = "The queue did not confirm each call. Repeat this request: they are made once.";
    return answerProblem(c, 503, { detail, headers: { "retry-after": "5" } });
  }
  const left = [...rows.filter((row) => !isOpen(row)), ...others].filter((row) => !isDone(row));
  const refused: Record<string, number> = {};
  const refuse = (why: string, count = 1) => {
    if (count > 0) refused[why] = (refused[why] ?? 0) + count;
  };
  for (const row of left) refuse(whyNot(row, meant.state));
  refuse("unreadable", unreadable.size);
  refuse("gone", ids.length - unreadable.size - done.length - left.length);
  return { done: done.length, refused };
}

/** True if this operator ended the row since the work began: an earlier try of the same request did. */
function isEndedBy({ history }: CallRow, { by, from }: { by: string; from: number }): boolean {
  const last = history.at(-1);
  return last?.by === by && last.at >= from - clockSkewMs;
}

function whyNot(row: CallRow, state: CallState | undefined): string {
  if (row.state !== state) return row.state;
  return row.request === null ? "erased" : "changed";
}

/** Creates the id of the call that replaces another, in a request of its own. */
function aCallId(deps: RouteDeps): string {
  return toRedialId(createRequestId(deps.clock.now(), deps.randomId()), deps);
}

/** Sends the messages of redialed calls. Resolves to false if the queue did not take each. */
async function areSent(
  c: Context<ApiEnv>,
  rows: readonly CallRow[],
  deps: RouteDeps,
): Promise<boolean> {
  let isSent = true;
  const send = async (row: CallRow) => {
    const message = redialMessageOf(row);
    if (message === undefined) return;
    try {
      await enqueue(deps.queue, message);
    } catch (error) {
      isSent = false;
      const fields = { request_id: c.get("requestId"), call_id: row.id };
      deps.log("alarm", "queue.unreachable", { ...fields, error: causeForLog(error) });
    }
  };
  for (let start = 0; start < rows.length; start += sendsAtOnce) {
    await Promise.all(rows.slice(start, start + sendsAtOnce).map(send));
  }
  return isSent;
}

/** Describes a filter for the audit log: `state NEEDS_REVIEW, agent_id agent_1`. */
function textsOf(filter: CallFilter): string {
  const texts = Object.entries(filter).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return `${name} ${typeof value === "number" ? toIsoTime(value) : value}`;
  });
  return texts.join(", ");
}
