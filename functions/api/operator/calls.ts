import { type Context, Hono } from "hono";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import type { ListOf } from "../../../shared/ledger/call-ledger.ts";
import { traceOfNumber } from "../../../shared/numbering/phone-number.ts";
import type { ApiEnv, OperatorDeps } from "../context.ts";
import { problem } from "../problem.ts";
import { record } from "./audit.ts";
import { pageOf, storyOf, viewOf } from "./call-views.ts";
import { cancelOne, resolve } from "./decisions.ts";
import { redial } from "./redial.ts";
import { isCallId, listQuerySchema, redialSchema, resolveSchema, searchSchema } from "./schemas.ts";
import { body, query, read } from "./validate.ts";

/** Calls: what became of them, and what an operator decides about one. */
export function callRoutes(deps: OperatorDeps) {
  const calls = new Hono<ApiEnv>();

  calls.get("/", query(listQuerySchema), async (c) => {
    const filters = c.req.valid("query");
    const { state, request_id } = filters;
    let of: ListOf = { all: true };
    if (request_id !== undefined) of = { requestId: request_id };
    else if (state !== undefined) of = { state };
    return c.json(await pageOf(await deps.ledger(), of, filters));
  });

  calls.post("/search", read, body(searchSchema), async (c) => {
    const { phone_number, ...filters } = c.req.valid("json");
    const { numberHash } = traceOfNumber(phone_number, deps.hashKey);
    return c.json(await pageOf(await deps.ledger(), { numberHash }, filters));
  });

  calls.get("/:id", async (c) => {
    const row = await rowOf(c, deps, c.req.param("id"));
    if (row instanceof Response) return row;
    return c.json({ ...viewOf(row), history: storyOf(row) });
  });

  calls.post("/:id/reveal", async (c) => {
    const row = await rowOf(c, deps, c.req.param("id"));
    return row instanceof Response ? row : reveal(c, deps, row);
  });

  calls.post("/:id/cancel", async (c) => {
    const row = await rowOf(c, deps, c.req.param("id"));
    return row instanceof Response ? row : cancelOne(c, deps, row);
  });

  calls.post("/:id/resolve", read, body(resolveSchema), async (c) => {
    const row = await rowOf(c, deps, c.req.param("id"));
    return row instanceof Response ? row : resolve(c, deps, row, c.req.valid("json").outcome);
  });

  calls.post("/:id/redial", read, body(redialSchema), async (c) => {
    const row = await rowOf(c, deps, c.req.param("id"));
    if (row instanceof Response) return row;
    return redial(c, deps, row, c.req.valid("json").not_placed === true);
  });
  return calls;
}

/** The row of a call, or the answer that there is none to be shown. */
async function rowOf(
  c: Context<ApiEnv>,
  deps: OperatorDeps,
  id: string,
): Promise<CallRow | Response> {
  const noCall = () => problem(c, 404, "There is no call of this id.");
  if (!isCallId(id)) return noCall();
  const { rows, unreadable } = await (await deps.ledger()).read([id]);
  if (unreadable.has(id)) {
    deps.log("alarm", "row.unreadable", { request_id: c.get("requestId"), call_id: id });
    return problem(c, 503, "A later version of the service has written this call: deploy it here.");
  }
  return rows.get(id) ?? noCall();
}

/** Shows whom a call is to and what its agent is told. */
async function reveal(c: Context<ApiEnv>, deps: OperatorDeps, row: CallRow): Promise<Response> {
  if (row.request === null) {
    return problem(c, 409, "The call is placed: whom it was to is erased.");
  }
  await record(c, deps, "reveal", row.id);
  const { phone_number, context = {}, timezone = null } = row.request;
  return c.json({ phone_number, context, timezone });
}
