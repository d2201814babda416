import { UnreadableError } from "#shared/ports/unreadable.ts";
import type { ClientRight, Caller } from "#shared/settings/tokens.ts";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { createRequestId } from "#shared/calls/ids.ts";
import { ConflictError } from "#shared/lib/retry.ts";
import type { ApiEnv, FoundCaller, UncheckedApiDeps } from "./context.ts";
import { causeForLog, UncheckedTokenError, UnreachableError } from "./port-limits.ts";
import { answerProblem } from "./problem.ts";
import { createMiddleware } from "hono/factory";

/** Creates an app without routes, which answers unknown paths and errors. */
export function createBaseApp({
  log,
  ...ids
}: Pick<UncheckedApiDeps, "log" | "clock" | "randomId">): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.notFound((c) =>
    answerProblem(c, 404, { detail: "Calls are posted to /v1/calls or /v1/calls/batch." }),
  );
  app.onError((error, c) => {
    // If a part of the API could not be loaded, the request has no id yet.
    const known: string | undefined = c.get("requestId");
    const fields = { request_id: known ?? identify(c, ids), error: causeForLog(error) };
    if (error instanceof UncheckedTokenError) {
      log("alarm", "token.unchecked", fields);
      const detail =
        "The token cannot be checked now. Nothing was accepted: send the request again.";
      return answerProblem(c, 503, { detail, headers: { "retry-after": "5" } });
    }
    if (error instanceof UnreachableError || error instanceof ConflictError) {
      const isStore = error instanceof UnreachableError && error.of === "store";
      log("alarm", isStore ? "store.unreachable" : "ledger.unreachable", fields);
      const port = isStore ? "object store" : "ledger";
      const detail = `The ${port} cannot be reached. What was asked may have been done: look again.`;
      return answerProblem(c, 503, { detail, headers: { "retry-after": "5" } });
    }
    if (error instanceof UnreadableError) {
      log("alarm", "document.unreadable", fields);
      const detail = "A later version of the service has written what this needs: deploy it here.";
      return answerProblem(c, 503, { detail });
    }
    log("alarm", "api.failed", fields);
    return answerProblem(c, 500, { detail: "The service failed. Its log has the request id." });
  });
  return app;
}

/** Gives a request its id. Problems then have it in their headers. */
export function identify(
  c: Context<ApiEnv>,
  { clock, randomId }: Pick<UncheckedApiDeps, "clock" | "randomId">,
): string {
  const requestId = createRequestId(clock.now(), randomId());
  c.set("requestId", requestId);
  return requestId;
}

/** Creates the middleware that gives each request an id, and its answer the header `X-Request-Id`. */
export function identifyRequests(
  deps: Pick<UncheckedApiDeps, "clock" | "randomId">,
): MiddlewareHandler<ApiEnv> {
  return (c, next) => {
    c.header("x-request-id", identify(c, deps));
    return next();
  };
}

/**
 * Answers 404 to a percent-encoded path. No path of the service needs encoding. A firewall rule for `/operator` would
 * miss `/%6fperator`, which Hono would route to the same handler.
 */
export function refuseEncodedPaths(deps: Pick<UncheckedApiDeps, "clock" | "randomId">) {
  return createMiddleware<ApiEnv>(async (c, next) => {
    if (!new URL(c.req.url).pathname.includes("%")) return next();
    identify(c, deps);
    return answerProblem(c, 404, { detail: "No path has percent-encoding." });
  });
}

/**
 * Creates the handler of a part of the API. The first request creates the part; after a failure the next request tries
 * again.
 */
export function createPart(
  create: () => Promise<Hono<ApiEnv>>,
): (c: Context<ApiEnv>) => Promise<Response> {
  let part: Promise<Hono<ApiEnv>> | undefined;
  return async (c) => {
    part ??= create().catch((error: unknown) => {
      part = undefined;
      throw error;
    });
    return (await part).fetch(c.req.raw);
  };
}

/**
 * Admits a request with exactly one known bearer token (RFC 6750), before its body is read. Any other request, also
 * with another scheme or two tokens, is answered 401 with `WWW-Authenticate`. Hono's `bearerAuth` would answer some
 * of these 400.
 */
export function authenticate(callerOf: (token: string) => FoundCaller) {
  return createMiddleware<ApiEnv>(async (c, next) => {
    const caller = await readCaller(c, callerOf);
    if (caller instanceof Response) return caller;
    c.set("caller", caller);
    return next();
  });
}

/**
 * Returns the caller of a request, or the answer 401. The result is immediate unless the ledger must be asked for the
 * token.
 *
 * @param right a token without it is answered 401 like a wrong one. Absent: none is required
 */
export function readCaller(
  c: Context<ApiEnv>,
  callerOf: (token: string) => FoundCaller,
  right?: ClientRight | "call",
): Caller | Response | Promise<Caller | Response> {
  const header = c.req.header("authorization");
  const token = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(header ?? "")?.[1];
  const admit = (caller: Caller | undefined) =>
    caller !== undefined && (right === undefined || caller.rights.includes(right))
      ? caller
      : unauthorized(c, header);
  const found = token === undefined ? undefined : callerOf(token);
  return found instanceof Promise ? found.then(admit) : admit(found);
}

/** Answers 401 to a request, with what is wrong with its Authorization header. */
export function unauthorized(c: Context<ApiEnv>, header: string | undefined): Response {
  const detail =
    header === undefined
      ? "Send the token as Authorization: Bearer <token>."
      : "The Authorization header does not hold a valid bearer token.";
  const challenge = header === undefined ? "Bearer" : 'Bearer error="invalid_token"';
  return answerProblem(c, 401, { detail, headers: { "www-authenticate": challenge } });
}

/**
 * Admits authenticated callers whose token has the right. Others are answered 403.
 *
 * @param served rights that the deployment permits. On AWS the function cannot read calls without them
 */
export function requireRight(
  right: ClientRight | "call",
  served: readonly (ClientRight | "call")[],
) {
  const headers = { "www-authenticate": `Bearer error="insufficient_scope", scope="${right}"` };
  return createMiddleware<ApiEnv>(async (c, next) => {
    if (!c.get("caller").rights.includes(right)) {
      return answerProblem(c, 403, {
        detail: `The token does not have the right "${right}".`,
        headers,
      });
    }
    if (!served.includes(right)) {
      const detail = `This deployment lets no token have the right "${right}": its clientRights lack it.`;
      return answerProblem(c, 403, { detail, headers });
    }
    return next();
  });
}

/** Methods of the routes. */
export type Method = "get" | "post" | "put" | "delete";

/** Answers 405 to every request of a path that none of its routes handles. Call it after adding the routes. */
export function refuseOtherMethods(
  app: Hono<ApiEnv>,
  path: string,
  methods: readonly Method[],
): void {
  const allow = methods
    .map((method) => (method === "get" ? "GET, HEAD" : method.toUpperCase()))
    .join(", ");
  const detail = `Only ${allow} is allowed here.`;
  app.all(path, (c) => answerProblem(c, 405, { detail, headers: { allow } }));
}
