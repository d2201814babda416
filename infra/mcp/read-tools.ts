import { forecastRequestSchema } from "../../functions/api/forecast/forecast-schema.ts";
import { roleOf } from "../../functions/api/http/roles.ts";
import type { Route } from "../../functions/api/http/route.ts";
import { operatorRoutes } from "../../functions/api/operator/routes.ts";
import { clientRoutes } from "../../functions/api/requests/routes.ts";
import { batchCallsMax } from "../../shared/calls/call-request.ts";
import * as z from "../../shared/lib/zod.ts";
import type { Client } from "../cli/calls/client.ts";
import type { Json } from "../generate/json-schema.ts";
import { answerOf } from "./answers.ts";
import { callFields, inputOf, outputOf } from "./schemas.ts";
import type { Tool } from "./tool.ts";

/** A tool that reads by one route. Its schemas and the first words of its description are the route's. */
interface ReadTool {
  name: string;
  operationId: string;
  title: string;
  /** Text after the route's summary. */
  more?: string;
  /** Parameters of the route that the tool lacks. */
  without?: readonly string[];
  /** Replaces the body of the route. */
  body?: z.ZodMiniObject;
}

const ofWaiting = "Of a call that waits, reason says why and due_at until when.";

/** Tools of an operator's token. All but `find_calls_to_number` need the role `see` alone. */
const operatorTools: readonly ReadTool[] = [
  { name: "list_requests", operationId: "listRequests", title: "Requests" },
  {
    name: "show_request",
    operationId: "showOperatorRequest",
    title: "One request",
    more: "blocked_by says what its calls wait for, expected_end_at until when.",
  },
  {
    name: "list_calls",
    operationId: "listCalls",
    title: "Calls",
    more: "With request_id: the calls of one request.",
  },
  { name: "find_calls_to_number", operationId: "searchCalls", title: "Calls to a number" },
  {
    name: "show_call",
    operationId: "showCall",
    title: "One call",
    more: ofWaiting,
  },
  { name: "list_results", operationId: "listResults", title: "Results" },
  {
    name: "show_usage",
    operationId: "showOperatorUsage",
    title: "Usage",
    without: ["format"],
  },
  {
    name: "why_waiting",
    operationId: "countWaiting",
    title: "Why calls wait",
    more: "For one request see blocked_by of show_request, for one call reason and due_at of show_call.",
  },
  { name: "list_backlogs", operationId: "listBacklogs", title: "Backlogs" },
  { name: "list_pauses", operationId: "listPauses", title: "Pauses and circuit breakers" },
  {
    name: "forecast",
    operationId: "forecast",
    title: "Forecast",
    more: "Nobody is called.",
    body: z.strictObject({
      client: forecastRequestSchema.shape.client,
      calls: z.array(z.strictObject(callFields)).check(z.minLength(1), z.maxLength(batchCallsMax)),
      at: forecastRequestSchema.shape.at,
      items: forecastRequestSchema.shape.items,
    }),
  },
  { name: "show_token", operationId: "showMe", title: "The token's roles" },
];

/** Tools of a client's token. All but `show_token` need the right `read`. */
const clientTools: readonly ReadTool[] = [
  { name: "list_requests", operationId: "listRequests", title: "Requests" },
  {
    name: "show_request",
    operationId: "showRequest",
    title: "One request and its calls",
    more: ofWaiting,
  },
  {
    name: "list_calls",
    operationId: "listRequestCalls",
    title: "Calls of a request",
    more: `id is that of the request. ${ofWaiting}`,
  },
  { name: "show_call", operationId: "showCall", title: "One call", more: ofWaiting },
  { name: "show_usage", operationId: "showUsage", title: "Usage" },
  { name: "show_token", operationId: "showToken", title: "The token's client, rights and mode" },
];

/** Returns the tools that read with a token: an operator's sees all clients, a client's its own calls. */
export function createReadTools(who: "operator" | "client", ask: Client): Tool[] {
  if (who === "operator") {
    return operatorTools.map((tool) => {
      const route = routeOf(tool, operatorRoutes);
      return createReadTool(tool, { route, needs: `the operator's role ${roleOf(route)}` }, ask);
    });
  }
  return clientTools.map((tool) => {
    const route = routeOf(tool, clientRoutes);
    const needs =
      route.right === undefined ? "any client's token" : `a client's right ${route.right}`;
    return createReadTool(tool, { route, needs }, ask);
  });
}

function routeOf<One extends Route>(
  { operationId }: Pick<ReadTool, "operationId">,
  routes: readonly One[],
): One {
  const route = routes.find((one) => one.operationId === operationId);
  if (route === undefined) throw new Error(`there is no route ${operationId}`);
  return route;
}

function createReadTool(
  { name, operationId, title, more, without = [], body: ownBody }: ReadTool,
  { route, needs }: { route: Route; needs: string },
  ask: Client,
): Tool {
  const { path, summary } = route;
  const query = Object.fromEntries(
    Object.entries(route.query?.shape ?? {}).filter(([field]) => !without.includes(field)),
  );
  const body = ownBody ?? route.body;
  if (body !== undefined && !(body instanceof z.ZodMiniObject)) {
    throw new Error(`the body of ${operationId} is no object`);
  }
  const parameters = [...path.matchAll(/:(\w+)/g)].map(([, parameter = ""]) => parameter);
  const inPath = Object.fromEntries(
    parameters.map((parameter) => [parameter, z.string().check(z.minLength(1))]),
  );
  return {
    name,
    config: {
      title,
      description: [`${summary}.`, more, `Needs ${needs}.`].filter(Boolean).join(" "),
      inputSchema: inputOf(z.strictObject({ ...inPath, ...query, ...body?.shape })),
      outputSchema: outputOf(route.answer),
      annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
    },
    async run(input) {
      const named = path.replaceAll(/:(\w+)/g, (_, parameter: string) =>
        encodeURIComponent(String(input[parameter])),
      );
      const search = new URLSearchParams(textsOf(pick(input, Object.keys(query))));
      const address = search.size === 0 ? named : `${named}?${search.toString()}`;
      const sent = route.method === "get" ? undefined : pick(input, Object.keys(body?.shape ?? {}));
      return answerOf(await ask<Json>(address, sent));
    },
  };
}

function pick(input: Json, names: readonly string[]): Json {
  return Object.fromEntries(
    names.flatMap((name) => (input[name] === undefined ? [] : [[name, input[name]]])),
  );
}

function textsOf(values: Json): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}
