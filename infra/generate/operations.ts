/** Describes routes of the API as operations of an OpenAPI document. */
import type { Operation } from "#functions/api/http/route.ts";
import { requestIdExample } from "./examples.ts";
import { isRequired, type Json, jsonSchema } from "./json-schema.ts";
import { commonReferences, noStore, problemReferences, requestIdHeader } from "./responses.ts";

const callIdExample = `call_${requestIdExample}_00000`;
const letterNameExample = "calls-5f0c1b7e9a2d4c6e8b1f3a5d7c9e0b2a";
const idempotencyHeaders = {
  "X-Request-Id": requestIdHeader,
  "Idempotency-Replayed": { $ref: "#/components/headers/Replayed" },
};

const csvName = {
  description: "For text/csv only: the name of a file",
  schema: { type: "string" },
};

export const pathParameter = (name: string, example: string) => ({
  name,
  in: "path",
  required: true,
  schema: { type: "string" },
  example,
});

function queryParameters({ query }: Operation) {
  return Object.entries(query?.shape ?? {}).map(([name, field]) => {
    const { description, ...schema } = jsonSchema(field, "input");
    const required = isRequired(field);
    return { name, in: "query", required, ...(description && { description }), schema };
  });
}

/** Returns the description of a route. Schemas that have an id are put into `components`. */
function operationOf(operation: Operation, idExample: string, components: Json) {
  const {
    method,
    path,
    operationId,
    summary,
    description,
    body,
    isBodyOptional = false,
    answer,
    alsoCsv = false,
    status = 200,
    problems = [],
  } = operation;
  const parameters = [
    ...(path.includes(":id") ? [pathParameter("id", idExample)] : []),
    ...(path.includes(":name") ? [pathParameter("name", "main")] : []),
    ...queryParameters(operation),
  ];
  const posted = body === undefined ? { type: "object" } : jsonSchema(body, "input", components);
  const required = body !== undefined && !isBodyOptional;
  return {
    operationId,
    summary,
    ...(description !== undefined && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...((method === "post" || method === "put") && {
      requestBody: { required, content: { "application/json": { schema: posted } } },
    }),
    responses: {
      [status]: {
        description: method === "get" ? "What was asked for." : "Done.",
        headers: {
          ...(path.endsWith("/redial") ? idempotencyHeaders : { "X-Request-Id": requestIdHeader }),
          "Cache-Control": noStore,
          ...(alsoCsv && { "Content-Disposition": csvName }),
        },
        content: {
          "application/json": { schema: jsonSchema(answer, "output", components) },
          ...(alsoCsv && { "text/csv": { schema: { type: "string" } } }),
        },
      },
      ...Object.fromEntries(problems.map((problem) => [problem, problemReferences[problem]])),
      ...commonReferences,
    },
  };
}

function idExampleOf(path: string): string {
  if (path.includes("/dead-letters/")) return letterNameExample;
  if (path.includes("/clients/")) return "shop";
  if (path.includes("/tokens/")) return "7hQ2mZt0KxBa";
  return path.includes("/requests/") ? requestIdExample : callIdExample;
}

/** Returns the paths of routes below a base path, such as `/operator`. */
export function pathsOf(
  base: string,
  routes: readonly Operation[],
  components: Json,
): Record<string, Json> {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const idExample = idExampleOf(`${base}${route.path}`);
    const path = `${base}${route.path.replaceAll(/:(\w+)/g, "{$1}")}`;
    paths[path] = { ...paths[path], [route.method]: operationOf(route, idExample, components) };
  }
  return paths;
}
