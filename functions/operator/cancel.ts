import type { Context } from "hono";
import { backlogOfKey } from "#shared/calls/call-row.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { Cancellable } from "#shared/policy/cancellation-orders.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { agentsOf, findSplit } from "#shared/dial-plan/splits.ts";
import * as z from "#shared/lib/zod.ts";
import type { ApiEnv, RouteDeps } from "../api/http/context.ts";
import { answerUnprocessable } from "../api/http/problem.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import {
  answerPages,
  cancelledSchema,
  cancelPages,
  cancelRows,
  countOrdered,
  giveOrder,
  type GivenOrder,
  pageRows,
  findControl,
} from "../api/actions/cancel-calls.ts";
import {
  callCursor,
  duePositionSchema,
  toCursor,
  createCursorSchema,
} from "../api/http/cursors.ts";
import { agentId, endOfTime, hasExactlyOne, requestId } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";

/** Backlogs of one page, and maximum pages of one answer. Each backlog is read to find its agent. */
const backlogsPage = 200;
const backlogPages = 10;

/** Calls that one answer has cancelled, and the cursor of the next answer; absent at the end. */
interface Progress {
  cancelled: number;
  next?: CancelCursor;
}

/** Cursor of a cancellation: below a call of the request, or in one of the agent's backlogs. */
const cursorSchema = z.union([
  z.strictObject({ before: callCursor }),
  z.strictObject({
    backlog: z.string(),
    after: z.optional(duePositionSchema),
  }),
]);
type CancelCursor = z.infer<typeof cursorSchema>;

export function toCancelCursor(cursor: CancelCursor): string {
  return toCursor(cursor);
}

/** Operators' orders end the calls of every client. */
const scope = { client: null };

const cancelCalls = declareRoute({
  operationId: "cancelCalls",
  summary: "Cancel the waiting calls of a request or an agent",
  method: "post",
  path: "/cancel",
  body: z
    .strictObject({
      request_id: z.optional(requestId),
      agent_id: z.optional(agentId),
      cursor: z.optional(createCursorSchema(cursorSchema)),
    })
    .check(
      z.refine(({ request_id, agent_id }) => hasExactlyOne({ request_id, agent_id }), {
        error: "must have either request_id or agent_id",
      }),
    ),
  answer: cancelledSchema,
  async handle({ c, deps, body: { request_id, agent_id = "", cursor } }) {
    if (findSplit(agent_id, deps.plan) !== undefined) {
      const arms = agentsOf(agent_id, deps.plan).join(", ");
      const detail = `is a split, whose calls are its arms': cancel those of ${arms}`;
      return answerUnprocessable(c, [{ pointer: "/agent_id", detail }]);
    }
    const what = request_id === undefined ? { agent: agent_id } : { request: request_id };
    const target = request_id === undefined ? `agent ${agent_id}` : `request ${request_id}`;
    const refuse = (detail: string) => answerUnprocessable(c, [{ pointer: "/cursor", detail }]);
    if (cursor !== undefined && "before" in cursor !== "request" in what) {
      return refuse("must be from an answer to the same request");
    }
    if (cursor === undefined) await recordAction(c, { action: "cancel", target }, deps);
    const given = await (cursor === undefined
      ? giveOrder(c, { what, scope }, deps)
      : findControl(what, scope, deps));
    if (given === undefined) return refuse("must be from an answer to the same request");
    const { cancelled, next } =
      "request" in what
        ? await cancelRequest(c, { given, request: what.request, cursor }, deps)
        : await cancelAgent(c, { given, agent: what.agent, cursor }, deps);
    const more = next === undefined ? {} : { cursor: toCancelCursor(next) };
    if (cursor !== undefined) {
      await recordAction(c, { action: "cancel", target, count: cancelled }, deps);
      return { cancelled, ...more };
    }
    return {
      cancelled,
      ordered: await countOrderedCalls(what, { given, cancelled }, deps.ledger),
      ...more,
    };
  },
});

export const cancelRoutes = [cancelCalls];

/** Counts the calls that an order ends; null for an agent's, as the number of its calls on the queue is unknown. */
async function countOrderedCalls(
  what: Cancellable,
  done: { given: GivenOrder; cancelled: number },
  ledger: CallLedger,
): Promise<number | null> {
  if ("agent" in what) return null;
  const { request } = what;
  const [row] = (await ledger.list({ requestId: request, limit: 1 })).rows;
  return countOrdered({ requestId: request, row }, done, ledger);
}

/** An order, and the cursor from the answer before. */
interface Cancellation {
  given: GivenOrder;
  cursor: CancelCursor | undefined;
}

/** Cancels the waiting calls of a request, newest first. */
async function cancelRequest(
  c: Context<ApiEnv>,
  { given, request, cursor }: Cancellation & { request: string },
  deps: RouteDeps,
): Promise<Progress> {
  const from = cursor !== undefined && "before" in cursor ? cursor.before : undefined;
  const { cancelled, next } = await cancelPages(
    c,
    {
      given,
      before: from,
      pageBelow: (before) => deps.ledger.list({ requestId: request, before, limit: pageRows }),
    },
    deps,
  );
  return next === undefined ? { cancelled } : { cancelled, next: { before: next } };
}

/** Cancels the waiting calls of an agent's backlogs, one backlog after another, earliest due time first. */
async function cancelAgent(
  c: Context<ApiEnv>,
  { given, agent, cursor }: Cancellation & { agent: string },
  deps: RouteDeps,
): Promise<Progress> {
  const { ledger } = deps;
  const from = cursor !== undefined && "backlog" in cursor ? cursor : undefined;
  const { keys, rest } = await listBacklogs(agent, from?.backlog, deps.documents);
  let cancelled = 0;
  let pages = 0;
  for (const key of keys) {
    let after = key === from?.backlog ? from.after : undefined;
    for (;;) {
      if (pages === answerPages) {
        const position = after === undefined ? {} : { after };
        return { cancelled, next: { backlog: key, ...position } };
      }
      pages += 1;
      const backlogs = [{ key, after }];
      const [positions = []] = await ledger.due({
        lanes: backlogs,
        until: endOfTime,
        each: pageRows,
      });
      if (positions.length === 0) break;
      const { rows } = await ledger.read(positions.map(({ id }) => id));
      cancelled += await cancelRows(c, { given, rows }, deps);
      after = positions.at(-1);
      if (positions.length < pageRows) break;
    }
  }
  return rest === undefined ? { cancelled } : { cancelled, next: { backlog: rest } };
}

/**
 * Returns the keys of an agent's backlogs, the one of `from` first. More may follow after `rest`.
 *
 * @param from the backlog at which an earlier answer ended
 */
async function listBacklogs(
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
    // The key names the agent, also of a backlog that only a later version can read.
    for (const { key } of listed) if (backlogOfKey(key).agentId === ofAgent) keys.push(key);
    rest = listed.at(-1)?.key;
  }
  return { keys, rest };
}
