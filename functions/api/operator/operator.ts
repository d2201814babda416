import { Hono } from "hono";
import type { Caller } from "../../../shared/platform/tokens.ts";
import { authenticate } from "../middleware/authenticate.ts";
import type { ApiDeps, ApiEnv, OperatorDeps } from "../context.ts";
import documents from "../generated/documents.json" with { type: "json" };
import { problem } from "../problem.ts";
import { auditRoutes } from "./audit.ts";
import { backlogRoutes } from "./backlogs.ts";
import { callRoutes } from "./calls.ts";
import { cancelRoutes } from "./cancel.ts";
import { countsRoutes } from "./counts.ts";
import { doNotCallRoutes } from "./do-not-call.ts";
import { pauseRoutes } from "./pauses.ts";

/**
 * What operators see and decide, under `/operator`: JSON, with tokens of their own. Numbers and contexts are shown to
 * who asks for one call's, and that is recorded, as is every change.
 */
export function createOperator(
  deps: ApiDeps,
  operatorOf: (token: string, now: number) => Caller | undefined,
) {
  const operator = new Hono<ApiEnv>();
  operator.use(authenticate((token) => operatorOf(token, deps.clock.now())));
  const { settings } = deps;
  if ("problem" in settings) {
    // Without its settings the service knows neither how long to keep what is written, nor whose a number's hash is.
    const detail = "The service is not configured; its log says what is missing.";
    operator.all("*", (c) => problem(c, 503, detail));
    return operator;
  }
  operator.use(async (c, next) => {
    await next();
    c.header("cache-control", "no-store");
  });
  const { plan, hashKey } = settings.value;
  const retentionMs = Math.ceil(plan.retentionDays * 86_400_000);
  const ready: OperatorDeps = { ...deps, plan, hashKey, retentionMs };
  operator.route("/calls", callRoutes(ready));
  operator.route("/cancel", cancelRoutes(ready));
  operator.route("/", pauseRoutes(ready));
  operator.route("/backlogs", backlogRoutes(ready));
  operator.route("/counts", countsRoutes(ready));
  operator.route("/do-not-call", doNotCallRoutes(ready));
  operator.route("/audit", auditRoutes(ready));
  operator.get("/openapi.json", (c) => c.json(documents.operator));
  operator.all("*", (c) => problem(c, 404, "There is nothing of this name for operators."));
  return operator;
}
