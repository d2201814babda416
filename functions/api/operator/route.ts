import type { Context, Hono } from "hono";
import type * as z from "zod";
import type { ApiEnv, OperatorDeps } from "../context.ts";
import { readJson } from "../middleware/read-json.ts";
import { judge } from "../problem.ts";

/** Maximum body of a request: the do-not-call list's ten thousand numbers, and room. */
const bodyBytesMax = 512 * 1024;
const unknownField = "is not a field of this request";

/** The description of a route, from which the OpenAPI document is made. */
export interface Operation {
  operationId: string;
  summary: string;
  method: "get" | "post";
  /** Path below `/operator`, with parameters such as `:id`. */
  path: string;
  query?: z.ZodObject | undefined;
  body?: z.ZodType | undefined;
  /** The body of the answer. */
  answer: z.ZodType<object>;
  /** The status of the answer; 200 if absent. */
  status?: 201 | undefined;
  /** Statuses of problem+json that the route answers besides those of every route. */
  problems?: readonly (404 | 409)[] | undefined;
}

/** A route of the operator's API. */
export interface Route extends Operation {
  respond(c: Context<ApiEnv>, deps: OperatorDeps): Promise<Response>;
}

/** A request whose query and body fit their schemas. */
interface Request<Query, Body> {
  c: Context<ApiEnv>;
  deps: OperatorDeps;
  query: Query;
  body: Body;
}

/**
 * Declares a route: its description, the schemas that judge its requests, and its handler. The handler returns the body
 * of the answer, or a problem as a `Response`.
 *
 * @example
 * operatorRoute({ method: "get", path: "/audit", operationId: "listAudit", summary: "…", query, answer, handle: async ({ query }) => … })
 */
export function operatorRoute<
  Answer extends z.ZodType<object>,
  Query extends z.ZodObject,
  Body extends z.ZodType,
>({
  handle,
  ...operation
}: Operation & {
  query?: Query;
  body?: Body;
  answer: Answer;
  handle(request: Request<z.output<Query>, z.output<Body>>): Promise<z.output<Answer> | Response>;
}): Route {
  const { query: querySchema, body: bodySchema, status } = operation;
  return {
    ...operation,
    async respond(c, deps) {
      const query = judge(c, querySchema, queryOf(c), unknownField);
      if (query instanceof Response) return query;
      const body = judge(c, bodySchema, bodySchema && (await c.req.json()), unknownField);
      if (body instanceof Response) return body;
      const answer = await handle({ c, deps, query: query.data, body: body.data });
      return answer instanceof Response ? answer : c.json(answer, status);
    },
  };
}

/** Adds routes to an app. */
export function addRoutes(app: Hono<ApiEnv>, routes: readonly Route[], deps: OperatorDeps): void {
  const readBody = readJson(bodyBytesMax);
  for (const { method, path, body, respond } of routes) {
    if (body !== undefined) app.on(method, path, readBody);
    app.on(method, path, (c) => respond(c, deps));
  }
}

/** Returns the query by name. A name that is sent twice has an array, which no schema accepts. */
function queryOf(c: Context<ApiEnv>): object {
  const entries = Object.entries(c.req.queries());
  return Object.fromEntries(
    entries.map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}
