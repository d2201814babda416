/** The answers of the OpenAPI documents that are no success, each with an example. */
import { titles } from "#functions/api/http/problem.ts";
import type { Json } from "./json-schema.ts";

export const requestIdHeader = { $ref: "#/components/headers/RequestId" };
export const noStore = { schema: { type: "string", const: "no-store" } };
const retryAfter = { description: "Seconds", schema: { type: "integer", examples: [5] } };

/** A response in problem+json, with an example. */
function problemResponse(
  status: keyof typeof titles,
  description: string,
  { detail, headers: more = {}, errors }: { detail: string; headers?: Json; errors?: Json[] },
) {
  return {
    description,
    headers: { "X-Request-Id": requestIdHeader, "Cache-Control": noStore, ...more },
    content: {
      "application/problem+json": {
        schema: { $ref: "#/components/schemas/Problem" },
        example: { title: titles[status], status, detail, ...(errors && { errors }) },
      },
    },
  };
}

/** The responses of every route. */
const commonResponses = {
  Unauthorized: problemResponse(401, "No valid token was sent.", {
    detail: "Send the token as Authorization: Bearer <token>.",
    headers: { "WWW-Authenticate": { schema: { type: "string", examples: ["Bearer"] } } },
  }),
  OtherMethod: problemResponse(405, "The path is known, but not the method.", {
    detail: "Only POST is allowed here.",
    headers: { Allow: { schema: { type: "string", examples: ["POST", "GET, HEAD"] } } },
  }),
  Unprocessable: problemResponse(
    422,
    "The request is invalid, and nothing of it was accepted: a field, the content type, JSON, a size, an Idempotency-Key that was used for another request. The first hundred errors are named.",
    {
      detail: "Nothing was accepted: see errors.",
      errors: [
        { pointer: "/3/phone_number", detail: "must be an E.164 number such as +12025550123" },
      ],
    },
  ),
  Failed: problemResponse(
    500,
    "The service failed, and may have accepted the request: repeat it only under the same Idempotency-Key.",
    { detail: "The service failed. Its log has the request id." },
  ),
  Unavailable: problemResponse(
    503,
    "The queue or the ledger cannot be reached, or the service is not configured. The detail says whether the request may have been accepted; then repeat it only under the same Idempotency-Key.",
    {
      detail:
        "The ledger cannot be reached. This request was not accepted: send it again, under its Idempotency-Key if it has one.",
      headers: { "Retry-After": retryAfter },
    },
  ),
};
export const operatorResponses = {
  ...commonResponses,
  Forbidden: problemResponse(403, "The token does not have the role that the route needs.", {
    detail: 'The token does not have the role "decide".',
  }),
  NotFound: problemResponse(404, "Not found.", { detail: "There is no call of this id." }),
  Conflict: problemResponse(409, "What it concerns does not allow this: see `detail`.", {
    detail: "The call is PLACED; this is for calls that are WAITING.",
  }),
  TooMany: problemResponse(429, "The token has reached this hour's maximum of numbers or lists.", {
    detail: "The token has looked up 100 numbers in this hour, which is the maximum.",
    headers: { "Retry-After": retryAfter },
  }),
};
export const clientResponses = {
  ...commonResponses,
  Forbidden: problemResponse(
    403,
    "The token does not have the right that this needs, or the deployment permits it to no token.",
    {
      detail: 'The token does not have the right "read".',
      headers: {
        "WWW-Authenticate": {
          schema: {
            type: "string",
            examples: ['Bearer error="insufficient_scope", scope="read"'],
          },
        },
      },
    },
  ),
  NotFound: problemResponse(
    404,
    "The token's client has no such request, call, receiver or part. A recent one may still be on the queue: then Retry-After says when to try again.",
    {
      detail: "There is no request of this id, or none of its calls is known yet.",
      headers: { "Retry-After": retryAfter },
    },
  ),
  Conflict: problemResponse(409, "The call, receiver or file does not allow this: see `detail`.", {
    detail:
      "This file was sent at 2026-11-21T09:00:00.000Z as campaign spring. Nobody in it is called again, unless you ask for that.",
  }),
};
/** The answers to a webhook that reports a call's end. */
export const callbackResponses = {
  CallbackUnverified: problemResponse(
    401,
    "The callback is not signed by the account's secret, within five minutes, for the call of this URL. `errors` names the wrong header.",
    {
      detail: "The callback is not signed for this call: see errors.",
      headers: {
        "WWW-Authenticate": { schema: { type: "string", examples: ["Standard-Webhooks"] } },
      },
      errors: [{ header: "webhook-id", detail: "must be, or begin with, the id of the call" }],
    },
  ),
  CallbackMalformed: problemResponse(
    422,
    "The body is not a valid result, and nothing was written: no JSON, an unknown status, negative seconds, an end before its answer or in the future.",
    {
      detail: "Nothing was accepted: see errors.",
      errors: [{ pointer: "/seconds", detail: "must not be negative" }],
    },
  ),
  CallbackUnavailable: problemResponse(
    503,
    "The queue did not accept the callback, its body did not come within 5 seconds, or the account's secret is missing: send it again.",
    {
      detail: "The queue did not accept the callback. Send it again.",
      headers: { "Retry-After": retryAfter },
    },
  ),
};
export const response = (
  name:
    | keyof typeof clientResponses
    | keyof typeof operatorResponses
    | keyof typeof callbackResponses,
) => ({
  $ref: `#/components/responses/${name}`,
});
export const commonReferences = {
  "401": response("Unauthorized"),
  "405": response("OtherMethod"),
  "422": response("Unprocessable"),
  "500": response("Failed"),
  "503": response("Unavailable"),
};
export const problemReferences = {
  403: response("Forbidden"),
  404: response("NotFound"),
  409: response("Conflict"),
  429: response("TooMany"),
};

export const callbackReferences = {
  "401": response("CallbackUnverified"),
  "405": response("OtherMethod"),
  "422": response("CallbackMalformed"),
  "503": response("CallbackUnavailable"),
};
