/** Makes the description of the address at which a webhook reports the result of a call (docs/results.md). */
import { reportSchema } from "#shared/providers/webhook.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { requestIdExample } from "./examples.ts";
import { type Json, jsonSchema } from "./json-schema.ts";
import { requestIdHeader } from "./responses.ts";
import { signatureParameter } from "./webhooks.ts";

/** A command that signs a result and posts it, in a shell that has exported CALL_ID, CALLBACK_URL and WEBHOOK_SECRET. */
export const callbackCommand = `export TIME=$(date +%s) BODY='{"status": "completed", "seconds": 72}'
SIGNATURE=$(node -p '
  const { BODY, CALL_ID, TIME, WEBHOOK_SECRET } = process.env;
  const key = Buffer.from(WEBHOOK_SECRET.replace("whsec_", ""), "base64");
  require("crypto").createHmac("sha256", key).update(\`\${CALL_ID}.\${TIME}.\${BODY}\`).digest("base64")')
curl -i "$CALLBACK_URL" -H "webhook-id: $CALL_ID" -H "webhook-timestamp: $TIME" \\
  -H "webhook-signature: v1,$SIGNATURE" -d "$BODY"`;

export const callbackPath = "/callbacks/{account}/{call}/{claim}/{code}";

const callId = toCallId(requestIdExample, 0);
const pathParts = {
  account: ["The account of the dial plan", "webhook"],
  call: ["The call's id", callId],
  claim: ["The claim under which the call was placed", "0123456789abcdef0123"],
  code: ["Proves that the address was made here", "dGhlLWNvZGUtb2YtYS1jYWxs"],
} as const;

const parameters = [
  ...Object.entries(pathParts).map(([name, [description, example]]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string" },
    example,
  })),
  ...[
    ["webhook-id", "The call's id, or a text that begins with it", "^call_", callId],
    ["webhook-timestamp", "Now, in seconds since the epoch", "^\\d{1,12}$", "1795251601"],
    [
      "webhook-signature",
      "v1, and the HMAC-SHA256 of id.timestamp.body in base64, by the account's secret. One of several will do. Not looked at where the account's calls go to a loopback host and it has no secret",
      "^\\S+( \\S+)*$",
      "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ],
  ].map(([name = "", about = "", pattern = "", example = ""]) =>
    signatureParameter({ name, about, pattern, example }),
  ),
];

/**
 * Returns the operation. Its address is what a call has as `callback_url`, so that it takes no token.
 *
 * @param responses references to its answers in problem+json, by status
 */
export function callbackOperation(responses: Json): Json {
  return {
    operationId: "tellResult",
    summary: "Reports the result of a call",
    description:
      "For your own webhook: its address is the callback_url of a call. Other fields are ignored. With CALL_ID, CALLBACK_URL and WEBHOOK_SECRET exported:",
    security: [],
    parameters,
    "x-codeSamples": [{ lang: "sh", source: callbackCommand }],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: jsonSchema(reportSchema, "input"),
          example: { status: "completed", seconds: 72, human: true },
        },
      },
    },
    responses: {
      "204": {
        description: "Accepted: the result is about to be written.",
        headers: { "X-Request-Id": requestIdHeader },
      },
      "404": { description: "This service did not make this URL. There is no body." },
      ...responses,
    },
  };
}
