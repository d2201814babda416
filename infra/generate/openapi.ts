/**
 * Makes the OpenAPI documents that the API serves from the schemas by which it judges requests, and the page that shows
 * the public document to readers.
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import * as operator from "../../functions/api/operator/schemas.ts";
import { callRequestSchema } from "../../shared/calls/call.ts";
import { readersPage, style } from "./docs-page.ts";

type Json = Record<string, unknown>;

/** A schema of ours as JSON Schema, with what is said of its fields for readers. */
function jsonSchema(
  schema: z.ZodType,
  about: Record<string, Json> = {},
  io: "input" | "output" = "output",
) {
  const { $schema: _, ...made } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  const properties = Object.entries(made.properties ?? {}).map(([name, property]) => [
    name,
    { ...(typeof property === "object" ? property : {}), ...about[name] },
  ]);
  return {
    ...made,
    ...(properties.length === 0 ? {} : { properties: Object.fromEntries(properties) }),
  };
}

const requestIdExample = "01KAJ6Y5G0QZ3N4T7V8W9XABCD";
const callSchema = jsonSchema(callRequestSchema);
const number = jsonSchema(callRequestSchema.shape.phone_number);

const problemSchema = {
  description: "RFC 9457. What is wrong and where, never what the value was.",
  ...jsonSchema(
    z.object({
      title: z.string(),
      status: z.int(),
      detail: z.string(),
      errors: z
        .array(
          z.object({
            pointer: z.string().optional(),
            header: z.string().optional(),
            detail: z.string(),
          }),
        )
        .optional(),
    }),
  ),
};
const problemExample = (status: number, title: string, detail: string, errors?: Json[]) => ({
  title,
  status,
  detail,
  ...(errors === undefined ? {} : { errors }),
});
const problemAnswer = (description: string, example: Json, headers: Json = {}) => ({
  description,
  headers: { "X-Request-Id": requestIdHeader, ...headers },
  content: {
    "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" }, example },
  },
});
const requestIdHeader = {
  description:
    "The request's id (a ULID), in the log and the ledger too. Its calls are call_<id>_00000, call_<id>_00001 and so on, in the order of the batch; a repeat under an Idempotency-Key has the first request's",
  schema: { type: "string", pattern: "^[0-9A-HJKMNP-TV-Z]{26}$", examples: [requestIdExample] },
};
const replayedHeader = {
  description: "true where the Idempotency-Key had been sent with the same bytes before",
  schema: { type: "string", enum: ["true"] },
};
const retryAfterHeader = { description: "Seconds", schema: { type: "integer" } };
const challengeHeader = { schema: { type: "string", examples: ["Bearer"] } };

const answers = {
  Unauthorized: problemAnswer(
    "No valid token was sent.",
    problemExample(401, "Unauthorized", "Send the token as Authorization: Bearer <token>."),
    { "WWW-Authenticate": challengeHeader },
  ),
  Unprocessable: problemAnswer(
    "Something is wrong with the request, and nothing of it was accepted: a field, the content type, JSON, a size, an Idempotency-Key that was used for another request. The first hundred errors are named.",
    problemExample(422, "Unprocessable request", "Nothing was accepted: see errors.", [
      { pointer: "/3/phone_number", detail: "must be an E.164 number such as +12025550123" },
    ]),
  ),
  Failed: problemAnswer(
    "The service failed, and may have accepted the request: repeat it only under the same Idempotency-Key.",
    problemExample(500, "Internal error", "The service failed. Its log has the request id."),
  ),
  Unavailable: problemAnswer(
    "The queue or the ledger cannot be reached, or the service is not configured. The detail says whether the request may have been accepted; then repeat it only under the same Idempotency-Key.",
    problemExample(
      503,
      "Service unavailable",
      "The ledger cannot be reached. Nothing was accepted: send the request again.",
    ),
    { "Retry-After": retryAfterHeader },
  ),
};
const ref = (name: keyof typeof answers | "NotFound" | "Conflict") => ({
  $ref: `#/components/responses/${name}`,
});

const licence = { name: "MIT", identifier: "MIT" };
const bearer = {
  type: "http",
  scheme: "bearer",
  description: "A token that `npm run token` made",
};
const first = { phone_number: "+12025550123", agent_id: "agent_sales" };
const example = { ...first, context: { first_name: "Ada" }, timezone: "America/New_York" };

const accepting = (operationId: string, summary: string, schema: Json, body: unknown) => ({
  post: {
    operationId,
    summary,
    description:
      "201 without a body once every call of the request is on the queue: a batch is accepted whole or not at all. Each call is then dialed once, at a permitted hour where the phone rings, or the operator is told why not.",
    parameters: [
      {
        name: "Idempotency-Key",
        in: "header",
        description:
          "For 24 hours the same key with the same bytes is the same request, so nobody is called twice. Send one with whatever you may have to repeat.",
        schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" },
        example: "campaign-7-part-1",
      },
    ],
    requestBody: { required: true, content: { "application/json": { schema, example: body } } },
    responses: {
      "201": {
        description: "Accepted: every call of the request is on the queue.",
        headers: { "X-Request-Id": requestIdHeader, "Idempotency-Replayed": replayedHeader },
      },
      "401": ref("Unauthorized"),
      "422": ref("Unprocessable"),
      "500": ref("Failed"),
      "503": ref("Unavailable"),
    },
  },
});

/** The two public endpoints. */
export function publicDocument() {
  const callRef = { $ref: "#/components/schemas/Call" };
  return {
    openapi: "3.1.0",
    info: {
      title: "Outbound Calls",
      version: "1",
      summary: "Accepts phone calls for voice agents.",
      description:
        "Gets each person dialed once, at a permitted hour in their own time zone, or tells the operator why not. What a gateway in front answers by itself, such as 413 or 429, is not of this API.",
      license: licence,
    },
    servers: [{ url: "/", description: "Where this document was served" }],
    security: [{ bearer: [] }],
    paths: {
      "/v1/calls": accepting("createCall", "Accept one call", callRef, example),
      "/v1/calls/batch": accepting(
        "createCalls",
        "Accept up to 10,000 calls",
        {
          type: "array",
          items: callRef,
          minItems: 1,
          maxItems: 10_000,
          description: "At most 4 MiB. Equal numbers are separate calls.",
        },
        [example, { ...first, phone_number: "+12025550124" }],
      ),
    },
    components: {
      securitySchemes: { bearer },
      schemas: { Call: callSchema, Problem: problemSchema },
      responses: answers,
    },
  };
}

const callRef = { $ref: "#/components/schemas/Call" };
const cursorSchema = {
  type: "string",
  description: "Where to go on from; absent where there is no more",
};
const listOf = (name: string, items: Json, more: Json = {}) => ({
  type: "object",
  required: [name],
  properties: { [name]: { type: "array", items }, cursor: cursorSchema, ...more },
});
const listOfCalls = listOf("calls", callRef, {
  unreadable: {
    type: "integer",
    description:
      "Calls left out, as only a later version of the service can read them; absent where there are none",
  },
});
const backlogSchema = {
  ...jsonSchema(operator.backlogViewSchema, {
    account: { description: "Where today's plan sends them; null where it has no route" },
    head: {
      description:
        "The call whose turn is first. It is late where `due_at` has passed; a later one waits for its hours or for a repeat",
    },
    waiting: { description: "How many calls wait, counted up to `waiting_most`" },
    called_up_to: {
      description: "Up to when calls of the account are called up; null where that is not ahead",
    },
    held_by: {
      description:
        "`agent_paused`, `account_paused`, `route_gone`, and the keys of open circuit breakers",
    },
  }),
  description: "The waiting calls of one client and one agent.",
};
const backlogsSchema = jsonSchema(operator.backlogsViewSchema, {
  backlogs: {
    items: { $ref: "#/components/schemas/Backlog" },
    description: "By when their heads are due, earliest first; with more than 1,000, in windows",
  },
  oldest_due_at: { description: "When the earliest head of this window is due, or was" },
  swept_at: { description: "When the last full round of the sweep began; null before the first" },
  cursor: { description: cursorSchema.description },
});
const json = (schema: Json, description = "Done.") => ({
  description,
  content: { "application/json": { schema } },
});
const withErrors = (responses: Json, ...more: ("NotFound" | "Conflict")[]) => ({
  ...responses,
  "401": ref("Unauthorized"),
  ...(more.includes("NotFound") ? { "404": ref("NotFound") } : {}),
  ...(more.includes("Conflict") ? { "409": ref("Conflict") } : {}),
  "422": ref("Unprocessable"),
  "500": ref("Failed"),
  "503": ref("Unavailable"),
});
const idParameter = {
  name: "id",
  in: "path",
  required: true,
  schema: { type: "string" },
  example: `call_${requestIdExample}_00000`,
};
const queryOf = (schema: z.ZodObject | z.ZodType, about: Record<string, Json>) => {
  const { properties = {}, required = [] } = jsonSchema(schema, about, "input");
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema: property,
  }));
};
const posted = (schema: z.ZodType, about: Record<string, Json> = {}) => ({
  required: true,
  content: { "application/json": { schema: jsonSchema(schema, about, "input") } },
});
const page = { limit: { type: "integer", minimum: 1, maximum: 200, default: 50 } };
const instant = { type: "string", format: "date-time" };
const nothing = {
  required: false,
  content: { "application/json": { schema: { type: "object" } } },
};

/** What operators see and decide. */
function operatorDocument() {
  const action = (
    operationId: string,
    summary: string,
    requestBody: Json,
    responses: Json,
    parameters: Json[] = [],
  ) => ({
    post: {
      operationId,
      summary,
      ...(parameters.length === 0 ? {} : { parameters }),
      requestBody,
      responses,
    },
  });
  const ofCall = (
    operationId: string,
    summary: string,
    requestBody: Json,
    done: Json = { "200": json(callRef) },
  ) =>
    action(operationId, summary, requestBody, withErrors(done, "NotFound", "Conflict"), [
      idParameter,
    ]);
  const read = (operationId: string, summary: string, schema: Json, parameters: Json[] = []) => ({
    get: {
      operationId,
      summary,
      parameters,
      responses: withErrors({ "200": json(schema, "What was asked for.") }),
    },
  });
  return {
    openapi: "3.1.0",
    info: {
      title: "Outbound Calls: operators",
      version: "1",
      summary: "What became of calls, and what is to become of them.",
      license: licence,
    },
    servers: [{ url: "/", description: "Where this document was served" }],
    security: [{ bearer: [] }],
    paths: {
      "/operator/calls": read(
        "listCalls",
        "List calls of a state, of a request, or all, newest first",
        listOfCalls,
        queryOf(operator.listQuerySchema, { ...page, from: instant, until: instant }),
      ),
      "/operator/calls/search": action(
        "searchCalls",
        "List calls to a number",
        posted(operator.searchSchema, { ...page, phone_number: number }),
        withErrors({ "200": json(listOfCalls) }),
      ),
      "/operator/calls/{id}": {
        get: {
          operationId: "showCall",
          summary: "One call and its story",
          parameters: [idParameter],
          responses: withErrors(
            { "200": json({ $ref: "#/components/schemas/CallWithHistory" }) },
            "NotFound",
          ),
        },
      },
      "/operator/calls/{id}/reveal": ofCall(
        "revealCall",
        "Its number and context; recorded",
        nothing,
        {
          "200": json({ $ref: "#/components/schemas/Revealed" }),
        },
      ),
      "/operator/calls/{id}/redial": ofCall(
        "redialCall",
        "Have another call made in its stead",
        posted(operator.redialSchema),
        {
          "201": {
            ...json({ $ref: "#/components/schemas/Redialed" }),
            headers: { "X-Request-Id": requestIdHeader, "Idempotency-Replayed": replayedHeader },
          },
        },
      ),
      "/operator/calls/{id}/resolve": ofCall(
        "resolveCall",
        "Say what a call that is NEEDS_REVIEW was",
        posted(operator.resolveSchema),
      ),
      "/operator/calls/{id}/cancel": ofCall("cancelCall", "Cancel a waiting call", nothing),
      "/operator/cancel": action(
        "cancelCalls",
        "Cancel what waits of a request or an agent",
        posted(operator.cancelSchema),
        withErrors({
          "200": json({
            type: "object",
            required: ["cancelled"],
            properties: { cancelled: { type: "integer" }, cursor: cursorSchema },
          }),
        }),
      ),
      "/operator/pause": action(
        "pause",
        "Keep the calls of an agent or an account waiting",
        posted(operator.pauseSchema),
        withErrors({ "200": json(jsonSchema(operator.pauseViewSchema)) }),
      ),
      "/operator/resume": action(
        "resume",
        "Let them go, or close a circuit breaker",
        posted(operator.resumeSchema),
        withErrors({ "200": json(jsonSchema(operator.resumedSchema)) }, "NotFound"),
      ),
      "/operator/pauses": read(
        "listPauses",
        "What operators have paused, and which circuit breakers are open",
        jsonSchema(operator.pausesViewSchema),
      ),
      "/operator/backlogs": read(
        "listBacklogs",
        "Whose calls wait, since when, and what holds them; those due first come first",
        backlogsSchema,
        queryOf(operator.backlogsQuerySchema, page),
      ),
      "/operator/counts": read(
        "countCalls",
        "Calls by state and hour, and what stands now",
        jsonSchema(operator.countsViewSchema),
        queryOf(operator.countsQuerySchema, {
          hours: { type: "integer", minimum: 1, maximum: 168, default: 24 },
        }),
      ),
      "/operator/audit": read(
        "listAudit",
        "The audit log: what operators did, newest first",
        listOf("entries", jsonSchema(operator.auditEntrySchema)),
        queryOf(operator.auditQuerySchema, page),
      ),
      "/operator/do-not-call": action(
        "changeDoNotCall",
        "Add numbers to the do-not-call list, or take them from it",
        posted(operator.doNotCallSchema),
        withErrors({ "200": json(jsonSchema(operator.doNotCallDoneSchema)) }, "Conflict"),
      ),
      "/operator/do-not-call/check": action(
        "checkDoNotCall",
        "Whether a number is on it",
        posted(operator.checkSchema, { phone_number: number }),
        withErrors({
          "200": json({ type: "object", properties: { listed: { type: "boolean" } } }),
        }),
      ),
    },
    components: {
      securitySchemes: { bearer },
      schemas: {
        Backlog: backlogSchema,
        Call: jsonSchema(operator.callViewSchema),
        CallWithHistory: jsonSchema(operator.callStorySchema),
        Revealed: jsonSchema(operator.revealedSchema),
        Redialed: jsonSchema(operator.redialedSchema),
        Problem: problemSchema,
      },
      responses: {
        ...answers,
        NotFound: problemAnswer(
          "There is none.",
          problemExample(404, "Not found", "There is no call of this id."),
        ),
        Conflict: problemAnswer(
          "It is not for a call that stands so.",
          problemExample(
            409,
            "Conflict",
            "The call is PLACED; this is for calls that are WAITING.",
          ),
        ),
      },
    },
  };
}

/** What the API serves of itself. */
export function documents() {
  const digest = createHash("sha256").update(style).digest("base64");
  return {
    public: publicDocument(),
    operator: operatorDocument(),
    page: readersPage(publicDocument()),
    pagePolicy: `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}
