/** Makes the OpenAPI documents from the routes of the API and the schemas by which these judge requests. */
import { labelDescriptions, labels } from "#shared/calls/labels.ts";
import { notBeforeHeader, priorityHeader } from "#functions/api/calls/call-headers.ts";
import { endpoints } from "#functions/api/calls/endpoints.ts";
import { operatorRoutes } from "#functions/operator/routes.ts";
import { type ClientRoute, clientRoutes } from "#functions/api/requests/routes.ts";
import { roleOf } from "#functions/operator/roles.ts";
import type { Operation } from "#functions/api/http/route.ts";
import { problemSchema } from "#shared/lib/problem.ts";
import { batchCallsMax, callRequestSchema } from "#shared/calls/call-request.ts";
import { callbackOperation, callbackPath } from "./callbacks.ts";
import { batchExample, callExample, requestIdExample } from "./examples.ts";
import { type Json, jsonSchema } from "./json-schema.ts";
import { pathParameter, pathsOf } from "./operations.ts";
import { descriptions, publicTags, withOperatorTags, withPublicDetails } from "./route-details.ts";
import {
  callbackReferences,
  callbackResponses,
  clientResponses,
  commonReferences,
  noStore,
  operatorResponses,
  problemReferences,
  requestIdHeader,
  response,
} from "./responses.ts";
import { webhookParameters, webhookResponses, webhooksOf } from "./webhooks.ts";

const headers = {
  RequestId: {
    required: true,
    description:
      "The request's id (a ULID whose last three digits are the number of its calls), in the log and the ledger too. Its calls are call_<id>_00000, call_<id>_00001 and so on, in the order of the batch; a repeat under an Idempotency-Key has the first request's",
    schema: { type: "string", pattern: "^[0-9A-HJKMNP-TV-Z]{26}$", examples: [requestIdExample] },
  },
  Replayed: {
    description: "true if the Idempotency-Key was sent before with the same bytes",
    schema: { type: "string", enum: ["true"] },
  },
};
/** Headers of the 201 to accepted calls. Only the last two may be absent, which a reference cannot say to generators. */
const acceptedHeaders = {
  "X-Request-Id": requestIdHeader,
  "Content-Length": { required: true, schema: { type: "integer", const: 0 } },
  "Content-Encoding": {
    description: "There is no body, in any coding",
    schema: { type: "string", const: "identity" },
  },
  "Idempotency-Replayed": headers.Replayed,
};

const problemComponents: Json = {};
jsonSchema(problemSchema, "output", problemComponents);
/** A deployment is answered for by whoever runs it. */
const contact = { name: "The operator of this deployment" };
const license = { name: "MIT", identifier: "MIT" };
const shared = {
  openapi: "3.1.0",
  servers: [{ url: "/", description: "Where this document was served" }],
  security: [{ bearer: [] }],
};
const securitySchemes = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "A token that `npm run token` made",
  },
};

const callReference = { $ref: "#/components/schemas/Call" };
/** The schemas of the bodies of the public endpoints, and their examples. */
const publicBodies = {
  "/v1/calls": { schema: callReference, example: callExample },
  "/v1/calls/batch": {
    schema: {
      type: "array",
      minItems: 1,
      maxItems: batchCallsMax,
      items: callReference,
      description: "At most 4 MiB. Equal numbers are separate calls.",
    },
    example: batchExample,
  },
};

/** The headers that concern a request's calls. */
const callParameters = [
  {
    name: notBeforeHeader,
    in: "header",
    description:
      "No call of the request is dialed before this time (RFC 3339), at most `expireAfterHours` away. A past time means now. It does not change when the calls expire.",
    schema: { type: "string", format: "date-time" },
  },
  {
    name: priorityHeader,
    in: "header",
    description:
      "The calls go ahead of others of the same client, within its fair share, and never ahead of another client's turn.",
    schema: { type: "string", const: "urgent" },
  },
  {
    name: "traceparent",
    in: "header",
    description:
      "W3C Trace Context, version 00. Kept with the calls where the dial plan has `traces`; a malformed one is ignored.",
    schema: { type: "string" },
  },
  ...Object.entries(labels).map(([name, { header }]) => ({
    name: header,
    in: "header",
    description: labelDescriptions[name] ?? "",
    schema: { type: "string", minLength: 1, maxLength: 775, pattern: "^[\\x20-\\x7e]+$" },
  })),
];

const publicOperation = ({ path, operationId, summary }: (typeof endpoints)[number]) => ({
  operationId,
  summary,
  description:
    "201 without a body once every call of the request is on the queue: a batch is accepted whole or not at all. Each call is then dialed once, at a permitted hour where the phone rings, or the service reports to the operator why not.",
  parameters: [
    {
      name: "Idempotency-Key",
      in: "header",
      description:
        "For 24 hours the same key with the same bytes is the same request, so nobody is called twice. Send one with every request that you might retry.",
      schema: {
        type: "string",
        minLength: 1,
        maxLength: 255,
        pattern: "^[\\x20-\\x2b\\x2d-\\x7e]+$",
      },
      // A key is for one path: whoever tries both commands on the page needs two.
      example: path === "/v1/calls" ? "appointment-4711" : "campaign-7-part-1",
    },
    ...callParameters,
  ],
  requestBody: { required: true, content: { "application/json": publicBodies[path] } },
  responses: {
    "201": {
      description: "Accepted: every call of the request is on the queue.",
      headers: acceptedHeaders,
    },
    ...commonReferences,
  },
});

/** Returns the description of an answer that is always the same text. */
const plainAnswer = (description: string, text: string, more: Json = {}) => ({
  description,
  headers: { "X-Request-Id": requestIdHeader, ...more },
  // A pattern, as some generators write a constant with a line break as it stands.
  content: {
    "text/plain": { schema: { type: "string", pattern: `^${text.trim()}\\n$` }, example: text },
  },
});

const healthOperation = {
  operationId: "showHealth",
  summary: "Check whether the API answers",
  description: "Needs no token, and asks neither the queue nor the ledger.",
  security: [],
  responses: {
    "200": plainAnswer("It answers.", "ok\n"),
    "405": response("OtherMethod"),
  },
};

const readinessOperation = {
  operationId: "showReadiness",
  summary: "Check whether calls are being dialed",
  description:
    "Needs no token, and reads two documents of the ledger, once in five seconds. For an uptime monitor.",
  security: [],
  responses: {
    "200": plainAnswer("The dialer works.", "ready\n", { "Cache-Control": noStore }),
    "405": response("OtherMethod"),
    "503": plainAnswer(
      "The dialer does not work, or its state is not known. The log says why.",
      "not ready\n",
      {
        "Retry-After": { schema: { type: "integer" } },
        "Cache-Control": noStore,
      },
    ),
  },
};

/** Returns a client's route with its right in its description. */
function withRight({ right, ...operation }: ClientRoute): Operation {
  const needs = right === undefined ? "" : `Needs the right \`${right}\`.`;
  const described = [needs, operation.description ?? descriptions[operation.operationId]];
  return { ...operation, description: described.filter(Boolean).join(" ") };
}

/** Returns the document of the public endpoints. */
export function publicDocument() {
  const schemas: Json = {
    Call: jsonSchema(callRequestSchema, "output"),
    ...problemComponents,
  };
  return {
    ...shared,
    info: {
      title: "Outbound Calls",
      version: "1",
      summary: "Accepts phone calls for voice agents.",
      description:
        "Gets each person dialed once, at a permitted hour in their own time zone, or reports to the operator why not. What a gateway in front answers by itself, such as 413 or 429, is not part of this API.",
      contact,
      license,
    },
    tags: publicTags,
    paths: withPublicDetails({
      ...Object.fromEntries(
        endpoints.map((endpoint): [string, Json] => [
          endpoint.path,
          { post: publicOperation(endpoint) },
        ]),
      ),
      ...pathsOf("/v1", clientRoutes.map(withRight), schemas),
      "/healthz": { get: healthOperation },
      "/readyz": { get: readinessOperation },
      [callbackPath]: { post: callbackOperation(callbackReferences) },
    }),
    webhooks: webhooksOf(schemas),
    components: {
      securitySchemes,
      schemas,
      parameters: webhookParameters,
      responses: { ...clientResponses, ...callbackResponses, ...webhookResponses },
      headers: { RequestId: headers.RequestId },
    },
  };
}

/** Returns an operator's route with its role in its description, and the answer to tokens without it. */
function withRole({ description, problems = [], ...operation }: Operation): Operation {
  const needs = `Needs the role \`${roleOf(operation)}\`.`;
  const described = [needs, description].filter((text) => text !== undefined).join(" ");
  return { ...operation, description: described, problems: [403, ...problems] };
}

/** Returns the description of an operator's route that takes the requests of a client's endpoint. */
function operationLike(
  endpoint: (typeof endpoints)[number],
  { operationId, summary, description, problems = [] }: Operation,
): Json {
  const { parameters, responses } = publicOperation(endpoint);
  const { schema, example } = publicBodies["/v1/calls/batch"];
  const posted = { ...schema, items: { $ref: "#/components/schemas/PostedCall" } };
  return {
    operationId,
    summary,
    description,
    requestBody: { required: true, content: { "application/json": { schema: posted, example } } },
    parameters: [pathParameter("id", "shop"), ...parameters],
    responses: {
      ...responses,
      "201": {
        ...responses["201"],
        headers: { ...responses["201"].headers, "Cache-Control": noStore },
      },
      ...Object.fromEntries(problems.map((problem) => [problem, problemReferences[problem]])),
    },
  };
}

/** Returns the document of the operator's API. */
export function operatorDocument() {
  const schemas: Json = { ...problemComponents };
  const own = operatorRoutes.filter(({ like }) => like === undefined);
  const paths = pathsOf("/operator", own.map(withRole), schemas);
  for (const { like, ...route } of operatorRoutes.map(withRole)) {
    const endpoint = endpoints.find(({ path }) => path === like);
    if (endpoint === undefined) continue;
    schemas["PostedCall"] = jsonSchema(callRequestSchema, "output");
    const path = `/operator${route.path.replace(":id", "{id}")}`;
    paths[path] = { post: operationLike(endpoint, route) };
  }
  return {
    ...shared,
    info: {
      title: "Outbound Calls: operators",
      version: "1",
      summary: "Outcomes of calls, past and expected.",
      description: "For operators' tokens only. Each route names the role that it needs.",
      contact,
      license,
    },
    ...withOperatorTags(paths),
    components: { securitySchemes, schemas, responses: operatorResponses, headers },
  };
}
