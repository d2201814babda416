import { Hono } from "hono";
import { authenticate, createBaseApp, identifyRequests } from "../api/http/base-app.ts";
import type { ApiDeps, ApiEnv, PlatformDeps } from "../api/http/context.ts";
import { answerProblem } from "../api/http/problem.ts";
import { toRouteDeps } from "../api/actions/route-deps.ts";
import { addRoutes } from "../api/http/route.ts";
import { requireRole, roleOf } from "./roles.ts";
import { serveConsole, serveOperatorDocument } from "../api/http/serve-files.ts";
import { operatorRoutes } from "./routes.ts";

/**
 * Creates the operator's console and API, below `/operator`: JSON, with operators' tokens. An operator sees a number
 * and a context only by revealing one call, which is recorded in the audit log, as is every change.
 *
 * @param deps undefined if the settings are wrong. Then every operator is answered 503
 */
export function createOperator(
  deps: ApiDeps | undefined,
  others: PlatformDeps & { operatorOf: NonNullable<ApiDeps["operatorOf"]> },
): Hono<ApiEnv> {
  const { operatorOf, clock } = others;
  const app = createBaseApp(others);
  app.use(identifyRequests(others));
  serveConsole(app, others.readServed);
  const operator = new Hono<ApiEnv>();
  operator.use(authenticate((token) => operatorOf(token, clock.now())));
  if (deps === undefined) {
    // Without settings there is no retention and no HASH_KEY.
    const detail = "The service is not configured; its log says what is missing.";
    operator.all("*", (c) => answerProblem(c, 503, { detail }));
  } else {
    operator.use(async (c, next) => {
      await next();
      if (!c.res.headers.has("cache-control")) c.header("cache-control", "no-store");
    });
    for (const route of operatorRoutes) {
      operator.on(route.method, route.path, requireRole(roleOf(route), deps));
    }
    addRoutes(operator, operatorRoutes, toRouteDeps(deps));
    serveOperatorDocument(operator, deps.readServed);
    operator.all("*", (c) =>
      answerProblem(c, 404, { detail: "There is nothing of this name for operators." }),
    );
  }
  return app.route("/operator", operator);
}
