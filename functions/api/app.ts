import type { Hono } from "hono";
import { addPart, createBaseApp, identifyRequests, refuseOtherMethods } from "./http/base-app.ts";
import { addCallbacks } from "./callbacks/receive-callbacks.ts";
import { createCalls } from "./calls/create-calls.ts";
import { endpoints } from "./calls/endpoints.ts";
import type { ApiEnv, PlatformDeps, UncheckedApiDeps } from "./http/context.ts";
import { withPortLimits } from "./http/port-limits.ts";
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
  const { settings, ...others } = withPortLimits(unlimited);
  const deps = "problem" in settings ? undefined : { ...others, settings: settings.value };
  const { operatorOf, parts } = others;
  const app = createBaseApp(others);
  if (deps?.settings.publicUrl !== undefined && deps.settings.plan.results !== undefined) {
    addCallbacks(app, deps, identifyRequests(others));
  }
  const accepting = { ...others, settings: deps?.settings };
  for (const endpoint of endpoints) {
    app.post(endpoint.path, (c) => createCalls(c, endpoint, accepting));
  }
  addPart(app, "/v1/*", async () => (await parts.requests())(deps, others));
  if (operatorOf !== undefined) {
    addPart(app, "/operator/*", async () => {
      const createOperator = await parts.operator();
      return createOperator(deps, { ...others, operatorOf });
    });
  }
  const rest = createRest({ isConfigured: deps !== undefined }, others);
  return app.notFound((c) => rest.fetch(c.req.raw));
}

/** Creates what few requests are of: the documents, and answers to requests of other paths. */
function createRest(settings: { isConfigured: boolean }, others: PlatformDeps): Hono<ApiEnv> {
  const app = createBaseApp(others);
  app.use(identifyRequests(others));
  serveDocuments(app, others.readServed);
  app.get("/healthz", (c) => c.text("ok\n"));
  refuseOtherMethods(app, "/healthz", ["get"]);
  serveReadiness(app, settings, others);
  return app;
}
