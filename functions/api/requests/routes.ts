import { Hono } from "hono";
import type { ClientRight } from "#shared/settings/tokens.ts";
import type { ApiDeps, ApiEnv, PlatformDeps } from "../http/context.ts";
import {
  authenticate,
  createBaseApp,
  identifyRequests,
  requireRight,
  refuseOtherMethods,
} from "../http/base-app.ts";
import { refuseAboveLimit } from "../http/limit-token.ts";
import { answerProblem } from "../http/problem.ts";
import { endpoints } from "../calls/endpoints.ts";
import { toRouteDeps } from "../actions/route-deps.ts";
import { addRoutes, type Route } from "../http/route.ts";
import { cancelCall } from "./cancel-call.ts";
import { cancelRequest } from "./cancel-request.ts";
import { addOptOuts } from "./opt-out.ts";
import { listReceiverDeliveries, replayReceiver, testReceiver } from "./receiver-deliveries.ts";
import { deleteReceiver, listReceivers, putReceiver, rotateReceiverSecret } from "./receivers.ts";
import { findSentFile, markSentPart, startSentFile } from "./sent-files.ts";
import { listRequestCalls } from "./list-calls.ts";
import { listRequests } from "./list-requests.ts";
import { showCall } from "./show-call.ts";
import { showMe } from "./show-me.ts";
import { showRequest } from "./show-request.ts";
import { showUsage } from "./show-usage.ts";

/** A route of clients, and the right that it requires. Absent: a token with any right. */
export interface ClientRoute extends Route {
  right?: ClientRight | "call";
}

/** The routes of clients below `/v1`, in the order of the OpenAPI document. */
export const clientRoutes: readonly ClientRoute[] = [
  showMe,
  { ...showRequest, right: "read" },
  { ...listRequests, right: "read" },
  { ...listRequestCalls, right: "read" },
  { ...showCall, right: "read" },
  { ...showUsage, right: "read" },
  { ...cancelRequest, right: "cancel" },
  { ...cancelCall, right: "cancel" },
  { ...addOptOuts, right: "opt_out" },
  { ...findSentFile, right: "call" },
  { ...startSentFile, right: "call" },
  { ...markSentPart, right: "call" },
  { ...listReceivers, right: "events" },
  { ...putReceiver, right: "events" },
  { ...deleteReceiver, right: "events" },
  { ...rotateReceiverSecret, right: "events" },
  { ...testReceiver, right: "events" },
  { ...listReceiverDeliveries, right: "events" },
  { ...replayReceiver, right: "events" },
];

/**
 * Creates the clients' routes other than those that accept calls.
 *
 * @param deps undefined if the settings are wrong. Then every caller is answered 503
 */
export function createRequests(deps: ApiDeps | undefined, others: PlatformDeps): Hono<ApiEnv> {
  const app = createBaseApp(others);
  app.use(identifyRequests(others));
  for (const { path } of endpoints) refuseOtherMethods(app, path, ["post"]);
  return app.route("/v1", createRoutes(clientRoutes, deps, others));
}

function createRoutes(
  routes: readonly ClientRoute[],
  deps: ApiDeps | undefined,
  { callerOf, clock, clientRights = [], tokenLimit, log }: PlatformDeps,
): Hono<ApiEnv> {
  const requests = new Hono<ApiEnv>();
  const authenticated = authenticate((token) => callerOf(token, clock.now()));
  requests.use(async (c, next) => {
    await next();
    c.header("cache-control", "no-store");
  });
  for (const { method, path, right } of routes) {
    requests.on(method, path, authenticated);
    if (right !== undefined) {
      requests.on(method, path, requireRight(right, ["call", ...clientRights]));
    }
    if (method === "get" && tokenLimit !== undefined) {
      // Reads count apart, so that they keep no call from being accepted. What stops calls has no limit.
      const limit = { tokenLimit: (id: string) => tokenLimit(`reads of ${id}`), log };
      requests.on(
        method,
        path,
        async (c, next) => (await refuseAboveLimit(c, c.get("caller").tokenId, limit)) ?? next(),
      );
    }
    if (deps !== undefined) continue;
    const detail = "The service is not configured; its log says what is missing.";
    requests.on(method, path, (c) =>
      answerProblem(c, 503, { detail, headers: { "retry-after": "60" } }),
    );
  }
  if (deps !== undefined) addRoutes(requests, routes, toRouteDeps(deps));
  for (const path of new Set(routes.map((route) => route.path))) {
    const ofPath = routes.filter((route) => route.path === path);
    const methods = ofPath.map(({ method }) => method);
    refuseOtherMethods(requests, path, methods);
  }
  return requests;
}
