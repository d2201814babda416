import type { Client } from "../cli/calls/client.ts";
import type { Json } from "../generate/json-schema.ts";
import { answerOf } from "./answers.ts";
import { type Operation, readOperations } from "./operations.ts";
import { callsSchema, inputOf, outputOf } from "./schemas.ts";
import type { Tool } from "./tool.ts";

/** A tool that reads by one operation. Its schemas and the first words of its description are the operation's. */
interface ReadTool {
  name: string;
  operationId: string;
  title: string;
  /** Text after the operation's summary. */
  more?: string;
  /** Fields of the operation that the tool lacks. */
  without?: readonly string[];
  /** Fields that replace those of the operation. */
  fields?: Json;
}

const ofWaiting = "Of a call that waits, reason says why and due_at until when.";

/** Tools of an operator's token. All but `find_calls_to_number` need the role `see` alone. */
const operatorTools: readonly ReadTool[] = [
  { name: "list_requests", operationId: "listRequests", title: "Requests" },
  {
    name: "show_request",
    operationId: "showOperatorRequest",
    title: "One request",
    more: "why_waiting says what its calls wait for, expected_end_at until when.",
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
    operationId: "explainWaiting",
    title: "Why calls wait",
    more: "Of all calls, or with a filter of a call, request, campaign, client, agent or account.",
  },
  { name: "list_backlogs", operationId: "listBacklogs", title: "Backlogs" },
  { name: "list_pauses", operationId: "listPauses", title: "Pauses and circuit breakers" },
  {
    name: "forecast",
    operationId: "forecast",
    title: "Forecast",
    more: "Nobody is called.",
    without: ["plan"],
    fields: { calls: callsSchema },
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
  const operationOf = readOperations(who);
  const tools = who === "operator" ? operatorTools : clientTools;
  return tools.map((tool) => {
    const operation = operationOf(tool.operationId);
    const { needs } = operation;
    const whose = who === "operator" ? "the operator's" : "a client's";
    const right = needs === undefined ? "any client's token" : `${whose} ${needs}`;
    return createReadTool(tool, { operation, needs: right }, ask);
  });
}

function createReadTool(
  { name, title, more, without = [], fields }: ReadTool,
  { operation, needs }: { operation: Operation; needs: string },
  ask: Client,
): Tool {
  const { path, method, summary, inPath, inQuery, inBody, answer } = operation;
  const places = [inPath, inQuery, inBody];
  const properties: Json = Object.assign({}, ...places.map(({ schemas }) => schemas), fields);
  const required = places.flatMap((place) => place.required);
  for (const field of without) delete properties[field];
  return {
    name,
    config: {
      title,
      description: [`${summary}.`, more, `Needs ${needs}.`].filter(Boolean).join(" "),
      inputSchema: inputOf({ type: "object", properties, required, additionalProperties: false }),
      outputSchema: outputOf(answer),
      annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
    },
    async run(input) {
      const named = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) =>
        encodeURIComponent(String(input[parameter])),
      );
      const search = new URLSearchParams(textsOf(pick(input, Object.keys(inQuery.schemas))));
      const address = search.size === 0 ? named : `${named}?${search.toString()}`;
      const sent = method === "get" ? undefined : pick(input, Object.keys(inBody.schemas));
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
