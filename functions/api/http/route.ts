import { zValidator } from "@hono/zod-validator";
import type { Context, Hono } from "hono";
import type * as z from "#shared/lib/zod.ts";
import type { OperatorRole } from "#shared/settings/tokens.ts";
import type { ApiEnv, RouteDeps } from "./context.ts";
import type { JsonStructure } from "./json-structure.ts";
import { readJson } from "./read-json.ts";
import { refuse } from "./problem.ts";
import { type Method, refuseOtherMethods } from "./base-app.ts";

/** Default maximum of a request's body: ten thousand numbers for the do-not-call list, and some room. */
const bodyBytesDefault = 512 * 1024;
const unknownField = "is not a field of this request";

/** Description of a route, from which the OpenAPI document is made. */
export interface Operation {
  operationId: string;
  summary: string;
  description?: string | undefined;
  /** The role that an operator's route requires. Default: `see` to read by GET, `decide` otherwise. */
  role?: OperatorRole | undefined;
  method: Method;
  /** Path relative to that of the routes' app, such as `/operator`, with parameters such as `:id`. */
  path: string;
  query?: z.ZodMiniObject | undefined;
  body?: z.ZodMiniType | undefined;
  /** Maximum bytes of the body. Default: 512 KiB. */
  bytesMax?: number | undefined;
  /** Structure of a large body. Absent: any that the bytes allow. */
  structure?: JsonStructure | undefined;
  /** True if an absent body means an empty object. */
  isBodyOptional?: boolean | undefined;
  /** Path of clients whose requests and answers are those of the route, which reads the body by itself. */
  like?: "/v1/calls/batch" | undefined;
  /** The body of the answer. */
  answer: z.ZodMiniType<object>;
  /** True if the answer may be comma-separated values, too. */
  alsoCsv?: boolean | undefined;
  /** Status of the answer. Default: 200. */
  status?: 201 | 202 | undefined;
  /** Statuses of problem+json that the route answers besides those of every route. */
  problems?: readonly (403 | 404 | 409 | 429)[] | undefined;
}

/** A route that reads or changes calls: an operator's or a client's. */
export interface Route extends Operation {
  respond(c: Context<ApiEnv>, deps: RouteDeps): Promise<Response>;
}

/** A request whose query and body fit their schemas. */
interface Request<Query, Body> {
  c: Context<ApiEnv>;
  deps: RouteDeps;
  query: Query;
  body: Body;
}

/**
 * Declares a route: its description, the schemas of its requests, and its handler. The handler returns the body of
 * the answer, or a problem as a `Response`.
 *
 * @example
 * declareRoute({ method: "get", path: "/audit", operationId: "listAudit", summary: "…", query, answer, handle: async ({ query }) => … })
 */
export function declareRoute<
  Answer extends z.ZodMiniType<object>,
  Query extends z.ZodMiniObject,
  Body extends z.ZodMiniType,
>({
  handle,
  ...operation
}: Operation & {
  query?: Query;
  body?: Body;
  answer: Answer;
  handle(request: Request<z.output<Query>, z.output<Body>>): Promise<z.output<Answer> | Response>;
}): Route {
  return {
    ...operation,
    async respond(c, deps) {
      // The validators of `addRoutes` have parsed both by this route's schemas.
      const valid: Context<
        ApiEnv,
        string,
        { out: { query: z.output<Query>; json: z.output<Body> } }
      > = c;
      const request = { c, deps, query: valid.req.valid("query"), body: valid.req.valid("json") };
      const answer = await handle(request);
      return answer instanceof Response ? answer : c.json(answer, operation.status);
    },
  };
}

/** Adds routes to an app, and answers other methods of their paths. */
export function addRoutes(app: Hono<ApiEnv>, routes: readonly Route[], deps: RouteDeps): void {
  // Paths without parameters come first, as another path's parameter would otherwise match them.
  const paths = [...new Set(routes.map(({ path }) => path))];
  const isParameter = (path: string) => Number(path.includes(":"));
  for (const path of paths.toSorted((one, other) => isParameter(one) - isParameter(other))) {
    const ofPath = routes.filter((route) => route.path === path);
    addRoutesOf(app, ofPath, deps);
    const methods = ofPath.map(({ method }) => method);
    refuseOtherMethods(app, path, methods);
  }
}

function addRoutesOf(app: Hono<ApiEnv>, routes: readonly Route[], deps: RouteDeps): void {
  const hook = refuse(unknownField);
  for (const {
    method,
    path,
    query,
    body,
    bytesMax,
    structure,
    isBodyOptional,
    respond,
  } of routes) {
    const readBody = readJson({
      bytesMax: bytesMax ?? bodyBytesDefault,
      structure,
      isOptional: isBodyOptional ?? false,
    });
    if (query !== undefined) app.on(method, path, zValidator("query", query, hook));
    if (body !== undefined) app.on(method, path, readBody, zValidator("json", body, hook));
    app.on(method, path, (c) => respond(c, deps));
  }
}
