import type { Context, Hono } from "hono";
import { withCalls } from "../../shared/calls/ids.ts";
import { addPart, createBaseApp, identify, identifyRequests } from "./http/base-app.ts";
import { addCallbacks } from "./callbacks/receive-callbacks.ts";
import { unknownField } from "./calls/call-errors.ts";
import { createCalls } from "./calls/create-calls.ts";
import { type Endpoint, endpoints } from "./calls/endpoints.ts";
import type { ApiDeps, ApiEnv, PlatformDeps, UncheckedApiDeps } from "./http/context.ts";
import { readCaller } from "./http/authenticate.ts";
import { readBody } from "./http/read-json.ts";
import { withPortLimits } from "./http/port-limits.ts";
import { errorsOf, problem, unprocessable } from "./http/problem.ts";
import { refuseOtherMethods } from "./http/refuse-other-methods.ts";
import { serveDocuments } from "./http/serve-files.ts";

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
  if (deps?.settings.publicUrl !== undefined && deps.settings.plan.results !== undefined) {
    addCallbacks(app, deps, identifyRequests(others));
  }
  for (const endpoint of endpoints) {
    app.post(endpoint.path, (c) => acceptCalls(c, endpoint, deps, others));
  }
  addPart(app, "/v1/requests/*", async () => (await parts.requests())(deps, others));
  if (operatorOf !== undefined) {
    addPart(app, "/operator/*", async () => {
      const createOperator = await parts.operator();
      return createOperator(deps, { ...others, operatorOf });
    });
  }
  const rest = createRest(others);
  return app.notFound((c) => rest.fetch(c.req.raw));
}

/**
 * Accepts calls. A token without the right `call` is answered 401 like a wrong one, as the contract has no 403.
 *
 * This is one handler without middleware: a middleware is a promise and a closure more, and a header that it sets makes
 * an object of headers for each request, which together were a fifth of accepting a call.
 *
 * @param deps undefined if the settings are wrong: then nothing is accepted
 */
async function acceptCalls(
  c: Context<ApiEnv>,
  { bytesMax, body }: Endpoint,
  deps: ApiDeps | undefined,
  others: PlatformDeps,
): Promise<Response> {
  const id = identify(c, others);
  const caller = readCaller(c, (token) => {
    const known = others.callerOf(token, others.clock.now());
    return known?.rights.includes("call") === true ? known : undefined;
  });
  if (caller instanceof Response) return caller;
  const read = await readBody(c, bytesMax);
  if (read instanceof Response) return read;
  const { data, error } = body.safeParse(read.value);
  if (data === undefined) return unprocessable(c, errorsOf(error?.issues ?? [], unknownField));
  if (deps === undefined) return unconfigured(c);
  const requestId = withCalls(id, Array.isArray(data) ? data.length : 1);
  c.set("requestId", requestId);
  const { bytes, text } = read;
  return await createCalls(c, deps, { requestId, caller, bytes, text, body: data });
}

/** Creates what few requests are of: the documents, and answers to requests of other methods and paths. */
function createRest(others: PlatformDeps): Hono<ApiEnv> {
  const app = createBaseApp(others);
  app.use(identifyRequests(others));
  for (const { path } of endpoints) refuseOtherMethods(app, path, ["post"]);
  serveDocuments(app, others.readServed);
  app.get("/healthz", (c) => c.text("ok\n"));
  refuseOtherMethods(app, "/healthz", ["get"]);
  return app;
}

function unconfigured(c: Context<ApiEnv>): Response {
  const detail =
    "The service is not configured; its log says what is missing. Nothing was accepted.";
  return problem(c, 503, detail, { headers: { "retry-after": "60" } });
}
