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
import { addOptOuts } from "./opt-out.ts";
import { findSentFile, markSentPart, startSentFile } from "./sent-files.ts";
import { showRequest } from "./show-request.ts";

/** A route of clients, and the right that it requires. */
interface RequestRoute extends Route {
  right: ClientRight | "call";
}

/** The routes below `/v1/requests`, in the order of the OpenAPI document. */
export const requestRoutes: readonly RequestRoute[] = [
  { ...showRequest, right: "read" },
  { ...cancelRequest, right: "cancel" },
];

/** Routes that remember which files of leads were sent, below `/v1`: for tokens that may place calls. */
export const sentFileRoutes: readonly RequestRoute[] = [
  { ...findSentFile, right: "call" },
  { ...startSentFile, right: "call" },
  { ...markSentPart, right: "call" },
];

/** The other routes of clients, below `/v1`. */
export const optOutRoutes: readonly RequestRoute[] = [{ ...addOptOuts, right: "opt_out" }];

/**
 * Creates the clients' routes about their requests, below `/v1/requests`, and those for opt-outs.
 *
 * @param deps undefined if the settings are wrong. Then every caller is answered 503
 */
export function createRequests(deps: ApiDeps | undefined, others: PlatformDeps): Hono<ApiEnv> {
  const app = createBaseApp(others);
  app.use(identifyRequests(others));
  return app
    .route("/v1/requests", createRoutes(requestRoutes, deps, others))
    .route("/v1", createRoutes([...optOutRoutes, ...sentFileRoutes], deps, others));
}

function createRoutes(
  routes: readonly RequestRoute[],
  deps: ApiDeps | undefined,
  { callerOf, clock, clientRights = [] }: PlatformDeps,
): Hono<ApiEnv> {
  const requests = new Hono<ApiEnv>();
  const authenticated = authenticate((token) => callerOf(token, clock.now()));
  requests.use(async (c, next) => {
    await next();
    c.header("cache-control", "no-store");
  });
  for (const { method, path, right } of routes) {
    requests.on(method, path, authenticated, requireRight(right, ["call", ...clientRights]));
    if (deps !== undefined) continue;
    const detail = "The service is not configured; its log says what is missing.";
    requests.on(method, path, (c) =>
      answerProblem(c, 503, { detail, headers: { "retry-after": "60" } }),
    );
  }
  if (deps !== undefined) addRoutes(requests, routes, toRouteDeps(deps));
  for (const { path, method } of routes) refuseOtherMethods(requests, path, [method]);
  return requests;
}
