import type { Context } from "hono";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import type { ApiEnv, RouteDeps } from "../context.ts";
import { problem } from "../problem.ts";

/** Adapters split the ids of calls, so no other id may reach them. */
export const callIdPattern = /^call_[0-9A-HJKMNP-TV-Z]{26}_\d{5}$/;

/** Returns the row of the call in the request's path, or a problem if there is no such row. */
export async function findCall(c: Context<ApiEnv>, deps: RouteDeps): Promise<CallRow | Response> {
  const id = c.req.param("id") ?? "";
  const noCall = () => problem(c, 404, "There is no call of this id.");
  if (!callIdPattern.test(id)) return noCall();
  const { rows, unreadable } = await deps.ledger.read([id]);
  if (unreadable.has(id)) {
    deps.log("alarm", "row.unreadable", { request_id: c.get("requestId"), call_id: id });
    return problem(c, 503, "A later version of the service has written this call: deploy it here.");
  }
  return rows.get(id) ?? noCall();
}
