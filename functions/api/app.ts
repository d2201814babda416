import { zValidator } from "@hono/zod-validator";
import type { Context, Hono } from "hono";
import { authenticate } from "./middleware/authenticate.ts";
import type { ApiDeps, ApiEnv, UncheckedApiDeps } from "./context.ts";
import { addCallbacks } from "./callbacks/take-callbacks.ts";
import { unknownField } from "./calls/call-errors.ts";
import { createCalls } from "./calls/create-calls.ts";
import { endpoints } from "./calls/endpoints.ts";
import { addPart, createBaseApp, identifyRequests } from "./base-app.ts";
import { withPortLimits } from "./port-limits.ts";
import { problem, refuse } from "./problem.ts";
import { readJson } from "./middleware/read-json.ts";
import { serveDocuments } from "./serve-files.ts";

/**
 * Creates the API. `POST /v1/calls` takes a call, `POST /v1/calls/batch` an array of them. Both answer 201
 * without a body, or 401, 422 or 5XX in problem+json. A request answered 201 is on the queue. Below
 * `/v1/requests` clients see what became of it, and cancel what waits.
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
  const identify = identifyRequests(others);
  if (deps?.settings.publicUrl !== undefined && deps.settings.plan.results !== undefined) {
    addCallbacks(app, deps, identify);
  }
  addPart(app, "/v1/requests/*", async () => (await parts.requests())(deps, others));
  if (operatorOf !== undefined) {
    addPart(app, "/operator/*", async () => {
      const createOperator = await parts.operator();
      return createOperator(deps, { ...others, operatorOf });
    });
  }
  app.use(identify);
  acceptCalls(app, deps, others);
  serveDocuments(app, others.readServed);
  app.get("/healthz", (c) => c.text("ok\n"));
  return app;
}

/**
 * Adds the two endpoints that take calls. A token without the right `call` is answered 401 like a wrong one, as their
 * contract has no 403.
 *
 * @param deps undefined if the settings are wrong: then nothing is accepted
 */
function acceptCalls(
  app: Hono<ApiEnv>,
  deps: ApiDeps | undefined,
  { callerOf, clock }: Pick<ApiDeps, "callerOf" | "clock">,
): void {
  const authenticated = authenticate((token) => {
    const caller = callerOf(token, clock.now());
    return caller?.rights.includes("call") === true ? caller : undefined;
  });
  for (const { path, bytesMax, body } of endpoints) {
    const valid = zValidator("json", body, refuse(unknownField));
    app.post(path, authenticated, readJson(bytesMax), valid, (c) =>
      deps === undefined ? unconfigured(c) : createCalls(c, deps, c.req.valid("json")),
    );
    app.all(path, (c) =>
      problem(c, 405, "Only POST is known here.", { headers: { allow: "POST" } }),
    );
  }
}

function unconfigured(c: Context<ApiEnv>): Response {
  const detail =
    "The service is not configured; its log says what is missing. Nothing was accepted.";
  return problem(c, 503, detail, { headers: { "retry-after": "60" } });
}
