import type { Hono } from "hono";
import { joinAgents, madePrefix } from "#shared/settings/tokens.ts";
import {
  createBaseApp,
  createPart,
  identifyRequests,
  refuseEncodedPaths,
  refuseOtherMethods,
} from "./http/base-app.ts";
import { addCallbacks, refuseCallbacks } from "./callbacks/receive-callbacks.ts";
import { createCalls } from "./calls/create-calls.ts";
import { endpoints } from "./calls/endpoints.ts";
import type { ApiEnv, PlatformDeps, UncheckedApiDeps } from "./http/context.ts";
import { UncheckedTokenError, withPortLimits } from "./http/port-limits.ts";
import { createMadeTokens, type MadeTokens } from "./http/made-tokens.ts";
import { serveReadiness } from "./http/readiness.ts";
import { serveDocuments } from "./http/serve-files.ts";

/**
 * Creates the API. `POST /v1/calls` takes a call, `POST /v1/calls/batch` an array of them. Both answer 201 without a
 * body, or 401, 422 or 5XX in problem+json. A request answered 201 is on the queue. Other routes below
 * `/v1` are in requests/routes.ts.
 *
 * @example
 * const app = createApp({ queue: createMemoryQueue(Date.now), settings: readApiSettings(environment, {},
 * log), … });
 * const { status } = await app.request("/v1/calls", { method: "POST", headers, body });
 */
export function createApp(unlimited: UncheckedApiDeps) {
  const { settings, ...others } = withMadeTokens(withPortLimits(unlimited));
  const deps = "problem" in settings ? undefined : { ...others, settings: settings.value };
  const { operatorOf, parts } = others;
  const app = createBaseApp(others);
  // Calls of an earlier plan may still end, and their callees opt out, whatever the plan of today asks for.
  if (deps === undefined) refuseCallbacks(app);
  else addCallbacks(app, deps, identifyRequests(others));
  const accepting = { ...others, settings: deps?.settings };
  for (const endpoint of endpoints) {
    app.post(endpoint.path, (c) => createCalls(c, endpoint, accepting));
  }
  if (operatorOf !== undefined) {
    app.use("/operator/*", refuseEncodedPaths(others));
    const operator = createPart(async () => {
      const createOperator = await parts.operator();
      return createOperator(deps, { ...others, operatorOf });
    });
    app.all("/operator/*", operator);
  }
  const requests = createPart(async () => (await parts.requests())(deps, others));
  const rest = createRest({ isConfigured: deps !== undefined }, others);
  // As a route, `/v1/*` would match calls too, and Hono would compose both handlers for each call.
  return app.notFound((c) =>
    /^\/v1(?:\/|$)/.test(c.req.path) ? requests(c) : rest.fetch(c.req.raw),
  );
}

/** Also resolves tokens that operators made, if there are operators. A token of API_TOKENS needs no read. */
function withMadeTokens(deps: UncheckedApiDeps): UncheckedApiDeps {
  const { settings, operatorOf } = deps;
  if (operatorOf === undefined) return deps;
  const made =
    "problem" in settings ? unresolved : createMadeTokens({ ...deps, settings: settings.value });
  return {
    ...deps,
    callerOf(token, now) {
      const known = deps.callerOf(token, now);
      return known === undefined && token.startsWith(madePrefix)
        ? made.callerOf(token, now)
        : known;
    },
    async agentsByClient(now) {
      const [listed, others] = [await deps.agentsByClient(now), await made.agentsByClient(now)];
      return joinAgents([...listed, ...others]);
    },
  };
}

async function refuseToResolve(): Promise<never> {
  throw new UncheckedTokenError("the settings are wrong");
}
const unresolved: MadeTokens = { callerOf: refuseToResolve, agentsByClient: refuseToResolve };

/** Creates the app for documents, health checks and unknown paths, which few requests need. */
function createRest(settings: { isConfigured: boolean }, others: PlatformDeps): Hono<ApiEnv> {
  const app = createBaseApp(others);
  app.use(identifyRequests(others));
  serveDocuments(app, others.readServed);
  app.get("/healthz", (c) => c.text("ok\n"));
  refuseOtherMethods(app, "/healthz", ["get"]);
  serveReadiness(app, settings, others);
  return app;
}
