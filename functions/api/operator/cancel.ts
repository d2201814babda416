import type { Context } from "hono";
import * as z from "zod";
import { acted } from "../../../shared/calls/state-machine.ts";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import type { Documents } from "../../../shared/documents/documents.ts";
import type { ValueOf } from "../../../shared/documents/kinds.ts";
import type { CallLedger } from "../../../shared/ledger/call-ledger.ts";
import { type Cancellable, cancellationKeyOf } from "../../../shared/documents/orders.ts";
import { randomVersion } from "../../../shared/platform/random-id.ts";
import type { ApiEnv, OperatorDeps } from "../context.ts";
import { unprocessable } from "../problem.ts";
import { record } from "./audit.ts";
import { changeDocument } from "./change-document.ts";
import { callCursor, duePlaceSchema, opaqueCursorOf, opaqueCursorTo } from "./cursors.ts";
import { countActs } from "./decisions.ts";
import { agentId, endOfTime, nextCursor, oneOf, requestId } from "./fields.ts";
import { operatorRoute } from "./route.ts";

/** Rows of one page, and maximum pages of one answer. */
const pageRows = 50;
const answerPages = 20;
/** Backlogs of one page, and maximum pages of one answer: each backlog must be read to know its agent. */
const backlogsPage = 200;
const backlogPages = 10;

/** An order to cancel, as in its document. */
type Order = ValueOf<"cancellation">;
/** Calls that one answer has cancelled, and the position of the next answer; absent at the end. */
interface Progress {
  cancelled: number;
  next?: CancelPlace;
}

/** The position at which a cancellation goes on: below a call of the request, or in one of the agent's backlogs. */
const placeSchema = z.union([
  z.strictObject({ before: callCursor }),
  z.strictObject({
    backlog: z.string(),
    after: duePlaceSchema.optional(),
  }),
]);
type CancelPlace = z.infer<typeof placeSchema>;

/** Encodes the position at which a cancellation goes on. */
export function cancelCursorOf(place: CancelPlace): string {
  return opaqueCursorOf(place);
}

const cancelledSchema = z.strictObject({ cancelled: z.int(), cursor: nextCursor });
export type Cancelled = z.infer<typeof cancelledSchema>;

/** Each answer cancels a part of the calls and has a cursor for the next. */
const cancelCalls = operatorRoute({
  operationId: "cancelCalls",
  summary: "Cancel what waits of a request or an agent",
  method: "post",
  path: "/cancel",
  body: z
    .strictObject({
      request_id: requestId.optional(),
      agent_id: agentId.optional(),
      cursor: opaqueCursorTo(placeSchema).optional(),
    })
    .refine(({ request_id, agent_id }) => oneOf({ request_id, agent_id }), {
      error: "must have either request_id or agent_id",
    }),
  answer: cancelledSchema,
  async handle({ c, deps, body: { request_id, agent_id = "", cursor } }) {
    const what = request_id === undefined ? { agent: agent_id } : { request: request_id };
    const target = request_id === undefined ? `agent ${agent_id}` : `request ${request_id}`;
    const refuse = (detail: string) => unprocessable(c, [{ pointer: "/cursor", detail }]);
    if (cursor !== undefined && "before" in cursor !== "request" in what) {
      return refuse("must be of an answer to this very order");
    }
    if (cursor === undefined) await record(c, deps, "cancel", target);
    const { documents } = deps;
    const order =
      cursor === undefined ? await give(c, deps, what, documents) : await standing(what, documents);
    if (order === undefined) return refuse("must be of an answer to this very order");
    const { cancelled, next } =
      "request" in what
        ? await cancelRequest(c, deps, order, what.request, cursor)
        : await cancelAgent(c, deps, order, what.agent, cursor);
    if (cursor !== undefined) await record(c, deps, "cancel", target, cancelled);
    return { cancelled, ...(next === undefined ? {} : { cursor: cancelCursorOf(next) }) };
  },
});

export const cancelRoutes = [cancelCalls];

/** Writes the order, by which the dialer cancels calls that have no row yet. */
async function give(
  c: Context<ApiEnv>,
  deps: OperatorDeps,
  what: Cancellable,
  documents: Documents,
): Promise<Order | undefined> {
  const at = deps.clock.now();
  const by = c.get("caller").tokenId;
  const expiresAt = at + deps.retentionMs;
  const change = (earlier: { value: Order } | undefined) => ({
    of: what,
    at: Math.max(at, earlier?.value.at ?? 0),
    by,
  });
  return changeDocument(cancellationKeyOf(what), expiresAt, change, documents, deps);
}

async function standing(what: Cancellable, documents: Documents): Promise<Order | undefined> {
  const { kind, key } = cancellationKeyOf(what);
  return (await documents.read([{ kind, key }])).get(kind, key)?.value;
}

/** Cancels the waiting calls of a request, newest first. */
async function cancelRequest(
  c: Context<ApiEnv>,
  deps: OperatorDeps,
  order: Order,
  ofRequest: string,
  cursor: CancelPlace | undefined,
): Promise<Progress> {
  const { ledger } = deps;
  let before = cursor !== undefined && "before" in cursor ? cursor.before : undefined;
  let cancelled = 0;
  for (let page = 0; page < answerPages; page++) {
    const { rows, next } = await ledger.list({ requestId: ofRequest, before, limit: pageRows });
    cancelled += await cancelRows(c, deps, order, rows, ledger);
    if (next === undefined) return { cancelled };
    before = next;
  }
  return before === undefined ? { cancelled } : { cancelled, next: { before } };
}

/** Cancels the calls that wait in an agent's backlogs, one backlog after another, first due first. */
async function cancelAgent(
  c: Context<ApiEnv>,
  deps: OperatorDeps,
  order: Order,
  ofAgent: string,
  cursor: CancelPlace | undefined,
): Promise<Progress> {
  const { ledger } = deps;
  const from = cursor !== undefined && "backlog" in cursor ? cursor : undefined;
  const { keys, rest } = await backlogsOf(ofAgent, from?.backlog, deps.documents);
  let cancelled = 0;
  let pages = 0;
  for (const key of keys) {
    let after = key === from?.backlog ? from.after : undefined;
    for (;;) {
      if (pages === answerPages) {
        const place = after === undefined ? {} : { after };
        return { cancelled, next: { backlog: key, ...place } };
      }
      pages += 1;
      const backlogs = [{ key, after }];
      const [places = []] = await ledger.due({ backlogs, until: endOfTime, each: pageRows });
      if (places.length === 0) break;
      const { rows } = await ledger.read(places.map(({ id }) => id));
      cancelled += await cancelRows(c, deps, order, [...rows.values()], ledger);
      after = places.at(-1);
      if (places.length < pageRows) break;
    }
  }
  return rest === undefined ? { cancelled } : { cancelled, next: { backlog: rest } };
}

/**
 * Returns the keys of an agent's backlogs, the one of `from` first. More may follow after `rest`.
 *
 * @param from the backlog at which an earlier answer ended
 */
async function backlogsOf(
  ofAgent: string,
  from: string | undefined,
  documents: Documents,
): Promise<{ keys: string[]; rest?: string | undefined }> {
  const keys: string[] = [];
  if (from !== undefined) {
    const found = (await documents.read([{ kind: "backlog", key: from }])).get("backlog", from);
    if (found?.value.agentId === ofAgent) keys.push(from);
  }
  let rest = from;
  for (let page = 0; page < backlogPages; page++) {
    const listed = await documents.list("backlog", { after: rest, limit: backlogsPage });
    if (listed.length === 0) return { keys };
    for (const { key, value } of listed) if (value.agentId === ofAgent) keys.push(key);
    rest = listed.at(-1)?.key;
  }
  return { keys, rest };
}

/** Cancels the rows that wait and are older than the order. Returns the number of cancelled rows. */
async function cancelRows(
  c: Context<ApiEnv>,
  deps: OperatorDeps,
  order: Order,
  rows: readonly CallRow[],
  ledger: CallLedger,
): Promise<number> {
  const at = deps.clock.now();
  const by = c.get("caller").tokenId;
  const changes = rows.flatMap((row) => {
    if (row.state !== "WAITING" || row.acceptedAt > order.at) return [];
    const write = { version: randomVersion(deps.randomId()), at };
    const next = acted(row, { to: "CANCELLED" }, by, write);
    return next === undefined ? [] : [{ next, seen: row.version }];
  });
  if (changes.length === 0) return 0;
  // A row that another write has changed is left alone: if it waits again, the order cancels it when it is due.
  const done = await ledger.write(changes);
  const written = changes.flatMap(({ next }, index) => (done[index] === true ? [next] : []));
  await countActs(written, deps);
  return written.length;
}
