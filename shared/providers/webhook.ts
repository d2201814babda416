import type { Call } from "../calls/call.ts";
import { signatureHeaders, signingKeyOf } from "../platform/standard-webhooks.ts";
import * as z from "../platform/zod.ts";
import type { DialOutcome, ProviderAdapter } from "./dialing-provider.ts";
import { toldByWebhook } from "./results/webhook.ts";
import { type Answer, outcomeOfStatus, post, retryAfterSeconds } from "./post.ts";
import type { WebhookRoute } from "./routes/webhook.ts";

/**
 * Posts each call to a URL of the user's own, signed by the Standard Webhooks specification
 * (https://www.standardwebhooks.com): `webhook-id` is the call's id, the same on any resend,
 * `webhook-signature` is `v1,` and the HMAC-SHA256 of `id.timestamp.body` under the account's secret,
 * `WEBHOOK_SECRET`.
 *
 * ```json
 * {"id": "call_…", "request_id": "req_…", "phone_number": "+12025550123", "agent_id": "agent_sales",
 *  "context": {}, "timezone": null, "accepted_at": "2026-11-21T09:30:00.000Z"}
 * ```
 *
 * With callbacks the body has `callback_url` too, at which the receiver may tell what became of the call.
 *
 * 2xx: placed, and a JSON `id` of the answer is kept as the provider's id of the call. 503 with
 * `Retry-After`: surely not placed, sent again later. Other answers are handled by `outcomeOfStatus`.
 */
export const webhook: ProviderAdapter<WebhookRoute> = {
  create({ secret, fetch, now }, routes) {
    const keyFor = (account: string) => {
      const text = secret(account, "SECRET");
      return text === undefined || text === ""
        ? undefined
        : signingKeyOf(text, `the secret of ${account}`);
    };
    const keys = new Map(routes.map(({ provider }) => [provider, keyFor(provider)]));
    return {
      async dial({ call, timeoutSeconds, callbackUrl }, route) {
        const key = keys.get(route.provider) ?? keyFor(route.provider);
        const body = JSON.stringify(bodyOf(call, callbackUrl));
        const headers = {
          "content-type": "application/json",
          "user-agent": "outbound-calls",
          ...signatureHeaders(call.id, body, key === undefined ? [] : [key], now()),
        };
        const answer = await post(fetch, route.url, { headers, body }, timeoutSeconds);
        return "kind" in answer ? answer : outcomeOf(answer, now());
      },

      async readCallback(signed, { provider }, callId) {
        return toldByWebhook(signed, keys.get(provider) ?? keyFor(provider), callId);
      },
    };
  },
};

function bodyOf({ id, requestId, acceptedAt, request }: Call, callbackUrl: string | undefined) {
  return {
    id,
    request_id: requestId,
    phone_number: request.phone_number,
    agent_id: request.agent_id,
    context: request.context ?? {},
    timezone: request.timezone ?? null,
    accepted_at: new Date(acceptedAt).toISOString(),
    callback_url: callbackUrl, // JSON leaves it out where it is undefined
  };
}

function outcomeOf(answer: Answer, now: number): DialOutcome {
  if (answer.status >= 200 && answer.status < 300) {
    return { kind: "placed", providerCallId: idIn(answer.text) };
  }
  if (answer.status === 503 && answer.headers.has("retry-after")) {
    const wait = { retryAfterSeconds: retryAfterSeconds(answer.headers, now) };
    return { kind: "not_placed", code: "http_503", ...wait };
  }
  return outcomeOfStatus(answer, now);
}

const answerSchema = z.object({ id: z.string().check(z.minLength(1), z.maxLength(200)) });

function idIn(text: string | undefined): string | undefined {
  try {
    return answerSchema.parse(JSON.parse(text ?? "")).id;
  } catch {
    return undefined; // an answer without an id is fine: the status said that the call is placed
  }
}
