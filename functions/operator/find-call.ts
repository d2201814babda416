import { unreadable } from "#shared/ports/unreadable.ts";
import type { Context } from "hono";
import type { CallRow } from "#shared/calls/call-row.ts";
import { readCallId } from "#shared/calls/ids.ts";
import type { ApiEnv, RouteDeps } from "../api/http/context.ts";
import { answerProblem } from "../api/http/problem.ts";

/** Returns the row of the call in the request's path, or a problem if there is no such row. */
export async function findCall(c: Context<ApiEnv>, deps: RouteDeps): Promise<CallRow | Response> {
  const id = readCallId(c.req.param("id") ?? "");
  const noCall = () => answerProblem(c, 404, { detail: "There is no call of this id." });
  if (id === undefined) return noCall();
  const row = (await deps.ledger.read([id])).get(id);
  if (row === unreadable) {
    return answerProblem(c, 503, {
      detail: "A later version of the service has written this call: deploy it here.",
    });
  }
  return row ?? noCall();
}
