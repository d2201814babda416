import { createMiddleware } from "hono/factory";
import type { ClientRight } from "../../../shared/settings/tokens.ts";
import type { ApiEnv } from "./context.ts";
import { answerProblem } from "./problem.ts";

/**
 * Admits authenticated callers whose token has the right. Others are answered 403.
 *
 * @param served rights that the deployment permits. On AWS the function cannot read calls without them
 */
export function requireRight(right: ClientRight, served: readonly ClientRight[]) {
  const headers = { "www-authenticate": `Bearer error="insufficient_scope", scope="${right}"` };
  return createMiddleware<ApiEnv>(async (c, next) => {
    if (!c.get("caller").rights.includes(right)) {
      return answerProblem(c, 403, {
        detail: `The token does not have the right "${right}".`,
        headers,
      });
    }
    if (!served.includes(right)) {
      const detail = `This deployment lets no token have the right "${right}": its clientRights lack it.`;
      return answerProblem(c, 403, { detail, headers });
    }
    return next();
  });
}
