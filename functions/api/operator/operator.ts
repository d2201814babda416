import { Hono } from "hono";
import type { Caller } from "../../../shared/platform/tokens.ts";
import { authenticate } from "../middleware/authenticate.ts";
import type { ApiDeps, ApiEnv } from "../context.ts";
import documents from "../generated/documents.json" with { type: "json" };
import { problem } from "../problem.ts";
import { addRoutes, routeDepsOf } from "../route.ts";
import { operatorRoutes } from "./routes.ts";

/**
 * Creates the operator's API, below `/operator`: JSON, with tokens of its own. An operator sees a number and a context
 * only by revealing one call, which is recorded in the audit log, as is every change.
 */
export function createOperator(
  deps: ApiDeps,
  operatorOf: (token: string, now: number) => Caller | undefined,
) {
  const operator = new Hono<ApiEnv>();
  operator.use(authenticate((token) => operatorOf(token, deps.clock.now())));
  operator.use(async (c, next) => {
    await next();
    c.header("cache-control", "no-store");
  });
  addRoutes(operator, operatorRoutes, routeDepsOf(deps));
  operator.get("/openapi.json", (c) => c.json(documents.operator));
  operator.all("*", (c) => problem(c, 404, "There is nothing of this name for operators."));
  return operator;
}

/** Answers every operator 503: the settings have the time for which documents are kept, and the key of hashes. */
export function createUnconfiguredOperator(
  operatorOf: (token: string, now: number) => Caller | undefined,
  { clock }: Pick<ApiDeps, "clock">,
) {
  const operator = new Hono<ApiEnv>();
  operator.use(authenticate((token) => operatorOf(token, clock.now())));
  const detail = "The service is not configured; its log says what is missing.";
  operator.all("*", (c) => problem(c, 503, detail));
  return operator;
}
