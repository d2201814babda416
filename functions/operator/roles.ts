import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { OperatorRole } from "#shared/settings/tokens.ts";
import type { ApiDeps, ApiEnv } from "../api/http/context.ts";
import { answerProblem } from "../api/http/problem.ts";
import type { Operation } from "../api/http/route.ts";

/** Returns the role that an operator's route requires. */
export function roleOf({ role, method }: Pick<Operation, "role" | "method">): OperatorRole {
  return role ?? (method === "get" ? "see" : "decide");
}

/** Returns the answer 403, which is logged, to an operator whose token lacks the role; undefined if it has it. */
export function refuseWithoutRole(
  c: Context<ApiEnv>,
  role: OperatorRole,
  { log }: Pick<ApiDeps, "log">,
): Response | undefined {
  const { tokenId, roles = [] } = c.get("caller");
  if (roles.includes(role)) return undefined;
  const detail = `The token does not have the role "${role}".`;
  const fields = { request_id: c.get("requestId"), token_id: tokenId, status: 403 };
  log("warning", "operator.refused", { ...fields, problem: detail });
  const challenge = `Bearer error="insufficient_scope", scope="${role}"`;
  return answerProblem(c, 403, { detail, headers: { "www-authenticate": challenge } });
}

/** Admits authenticated operators whose token has the role, before the body is read. Others are answered 403. */
export function requireRole(role: OperatorRole, deps: Pick<ApiDeps, "log">) {
  return createMiddleware<ApiEnv>(
    async (c, next) => refuseWithoutRole(c, role, deps) ?? (await next()),
  );
}
