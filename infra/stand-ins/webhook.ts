import { createHmac } from "node:crypto";
import * as z from "#shared/lib/zod.ts";
import { e164, endpoint, type StandInRequest, type StandInType, text } from "./endpoint.ts";

/** Body of docs/webhook.md. */
const callSchema = z.strictObject({
  id: text,
  request_id: text,
  phone_number: e164,
  agent_id: text,
  context: z.record(z.string(), z.string()),
  timezone: z.nullable(z.string()),
  accepted_at: z.iso.datetime(),
  callback_url: z.optional(z.url()),
});

/**
 * A user's own receiver (docs/webhook.md; https://www.standardwebhooks.com), on every path. It checks the
 * signature if there is a secret, drops a `webhook-id` that it has seen, and cannot be asked for calls.
 */
export const webhook: StandInType = {
  name: "webhook",
  secrets: {
    SECRET: `whsec_${Buffer.from("secret of the stand-in's receiver").toString("base64")}`,
  },
  create({ calls, secrets }) {
    return {
      credentialProblem: (request) => signatureProblem(request, secrets["SECRET"]),
      refuse({ fault, text: message }) {
        const statuses = { credentials: 401, address: 404, form: 422 };
        return { status: statuses[fault], body: { error: message } };
      },
      endpoints: [
        endpoint({
          method: "POST",
          path: /^\//,
          purpose: "call",
          body: callSchema,
          perform({ body, headers }) {
            if (headers["webhook-id"] !== body.id)
              return { status: 422, body: { error: "two ids" } };
            const seen = calls.placed.find(({ ourId }) => ourId === body.id);
            const id = `provider_${body.id}`;
            const place = () =>
              calls.place({ id, number: body.phone_number, ourId: body.id, request: body });
            return { status: 200, body: { id: (seen ?? place()).id } };
          },
        }),
      ],
    };
  },
};

function signatureProblem(
  { headers, text: body }: StandInRequest,
  secret: string | undefined,
): string | undefined {
  const {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signature,
  } = headers;
  if (typeof id !== "string" || typeof timestamp !== "string")
    return "webhook-id or -timestamp is missing";
  if (secret === undefined) return undefined;
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return signature === `v1,${expected}` ? undefined : "the signature is wrong";
}
