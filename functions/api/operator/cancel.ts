import { type Context, Hono } from "hono";
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
import { endOfTime } from "./call-views.ts";
import { countActs } from "./decisions.ts";
import { type CancelPlace, cancelCursorOf, cancelSchema } from "./schemas.ts";
import { body, read } from "./validate.ts";

/** Rows of one page, and pages of one answer. */
const pageRows = 50;
const answerPages = 20;
/** Backlogs of one page, and pages of one answer: whose an agent's are, each of them says. */
const backlogsPage = 200;
const backlogPages = 10;

/** An order that stands, as the document of a cancellation has it. */
type Order = ValueOf<"cancellation">;
/** How many calls one answer has cancelled, and where the next goes on; absent where all have been looked at. */
interface Progress {
  cancelled: number;
  next?: CancelPlace;
}

/** Cancels what waits of a request or an agent, some of it with each answer. */
export function cancelRoutes(deps: OperatorDeps) {
  return new Hono<ApiEnv>().post("/", read, body(cancelSchema), async (c) => {
    const { request_id, agent_id = "", cursor } = c.req.valid("json");
    const what = request_id === undefined ? { agent: agent_id } : { request: request_id };
    const target = request_id === undefined ? `agent ${agent_id}` : `request ${request_id}`;
    const refuse = (detail: string) => unprocessable(c, [{ pointer: "/cursor", detail }]);
    if (cursor !== undefined && "before" in cursor !== "request" in what) {
      return refuse("must be of an answer to this very order");
    }
    if (cursor === undefined) await record(c, deps, "cancel", target);
    const documents = await deps.documents();
    const order =
      cursor === undefined ? await give(c, deps, what, documents) : await standing(what, documents);
    if (order === undefined) return refuse("must be of an answer to this very order");
    const { cancelled, next } =
      "request" in what
        ? await cancelRequest(c, deps, order, what.request, cursor)
        : await cancelAgent(c, deps, order, what.agent, cursor);
    if (cursor !== undefined) await record(c, deps, "cancel", target, cancelled);
    return c.json({ cancelled, ...(next === undefined ? {} : { cursor: cancelCursorOf(next) }) });
  });
}

/** Writes the order for calls that have no row yet to be cancelled: the dialer ends them when it meets them. */
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
  requestId: string,
  cursor: CancelPlace | undefined,
): Promise<Progress> {
  const ledger = await deps.ledger();
  let before = cursor !== undefined && "before" in cursor ? cursor.before : undefined;
  let cancelled = 0;
  for (let page = 0; page < answerPages; page++) {
    const { rows, next } = await ledger.list({ requestId, before, limit: pageRows });
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
  agentId: string,
  cursor: CancelPlace | undefined,
): Promise<Progress> {
  const ledger = await deps.ledger();
  const from = cursor !== undefined && "backlog" in cursor ? cursor : undefined;
  const { keys, rest } = await backlogsOf(agentId, from?.backlog, await deps.documents());
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
 * The keys of an agent's backlogs, the one of `from` first; `rest` is where to go on looking for more of them.
 *
 * @param from where an earlier answer ended
 */
async function backlogsOf(
  agentId: string,
  from: string | undefined,
  documents: Documents,
): Promise<{ keys: string[]; rest?: string | undefined }> {
  const keys: string[] = [];
  if (from !== undefined) {
    const found = (await documents.read([{ kind: "backlog", key: from }])).get("backlog", from);
    if (found?.value.agentId === agentId) keys.push(from);
  }
  let rest = from;
  for (let page = 0; page < backlogPages; page++) {
    const listed = await documents.list("backlog", { after: rest, limit: backlogsPage });
    if (listed.length === 0) return { keys };
    for (const { key, value } of listed) if (value.agentId === agentId) keys.push(key);
    rest = listed.at(-1)?.key;
  }
  return { keys, rest };
}

/** Cancels those of the rows that wait and that the order is for; answers with how many it has. */
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
  // Where somebody else wrote first, the row is theirs: should it wait again, the order ends it when it is due.
  const done = await ledger.write(changes);
  const written = changes.flatMap(({ next }, index) => (done[index] === true ? [next] : []));
  await countActs(written, deps);
  return written.length;
}
