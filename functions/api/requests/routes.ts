import { Hono } from "hono";
import type { ClientRight } from "../../../shared/settings/tokens.ts";
import type { ApiDeps, ApiEnv, PlatformDeps } from "../http/context.ts";
import {
  authenticate,
  createBaseApp,
  identifyRequests,
  requireRight,
  refuseOtherMethods,
} from "../http/base-app.ts";
import { answerProblem } from "../http/problem.ts";
import { toRouteDeps } from "../actions/route-deps.ts";
import { addRoutes, type Route } from "../http/route.ts";
import { cancelRequest } from "./cancel-request.ts";
import { showRequest } from "./show-request.ts";

/** A route of clients, and the right that it requires. */
interface RequestRoute extends Route {
  right: ClientRight;
}

/** The routes below `/v1/requests`, in the order of the OpenAPI document. */
export const requestRoutes: readonly RequestRoute[] = [
  { ...showRequest, right: "read" },
  { ...cancelRequest, right: "cancel" },
];

/**
 * Creates the clients' routes about their requests, below `/v1/requests`.
 *
 * @param deps undefined if the settings are wrong. Then every caller is answered 503
 */
export function createRequests(deps: ApiDeps | undefined, others: PlatformDeps): Hono<ApiEnv> {
  const { callerOf, clock, clientRights = [] } = others;
  const app = createBaseApp(others);
  app.use(identifyRequests(others));
  const requests = new Hono<ApiEnv>();
  const authenticated = authenticate((token) => callerOf(token, clock.now()));
  requests.use(async (c, next) => {
    await next();
    c.header("cache-control", "no-store");
  });
  for (const { method, path, right } of requestRoutes) {
    requests.on(method, path, authenticated, requireRight(right, clientRights));
    if (deps !== undefined) continue;
    const detail = "The service is not configured; its log says what is missing.";
    requests.on(method, path, (c) =>
      answerProblem(c, 503, { detail, headers: { "retry-after": "60" } }),
    );
  }
  if (deps !== undefined) addRoutes(requests, requestRoutes, toRouteDeps(deps));
  for (const { path, method } of requestRoutes) refuseOtherMethods(requests, path, [method]);
  return app.route("/v1/requests", requests);
}
