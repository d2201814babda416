import * as z from "zod";
import { type DialOutcome, type ProviderType, routeFields } from "./dialing-provider.ts";
import { httpsUrl } from "./https-url.ts";
import { outcomeOfJson, post } from "./post.ts";

const routeSchema = z.strictObject({
  ...routeFields,
  type: z.literal("vapi"),
  baseUrl: httpsUrl.optional(),
  /** The assistant's id. */
  agent: z.string().min(1).max(200),
  /** The id of the phone number that calls. */
  from: z.string().min(1).max(200),
});

/**
 * Vapi: `POST /call` (https://docs.vapi.ai/api-reference/calls/create), with `Authorization: Bearer` and the
 * account's secret `VAPI_API_KEY`.
 *
 * ```json
 * {"assistantId": "…", "phoneNumberId": "…",
 *  "customer": {"number": "+12025550123", "externalId": "call_…"},
 *  "assistantOverrides": {"variableValues": {"first_name": "Ada"}}}
 * ```
 *
 * 201 with the call's `id`: placed; unless `subscriptionLimits.concurrencyBlocked` says that all lines were busy and the
 * call "does not connect" (docs.vapi.ai, call concurrency). A 400 whose message is an array is about
 * the fields of this call; a text is about a limit or the account, and where it is none that is known a person decides.
 */
export const vapi: ProviderType<z.infer<typeof routeSchema>> = {
  name: "vapi",
  routeSchema,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY"],
  create: ({ secret, fetch, now }) => ({
    async dial({ id, request }, route, timeoutSeconds) {
      const { provider, baseUrl = "https://api.vapi.ai", agent, from } = route;
      const body = JSON.stringify({
        assistantId: agent,
        phoneNumberId: from,
        customer: { number: request.phone_number, externalId: id },
        assistantOverrides: { variableValues: request.context ?? {} },
      });
      const headers = {
        authorization: `Bearer ${secret(provider, "API_KEY") ?? ""}`,
        "content-type": "application/json",
      };
      const answer = await post(fetch, `${baseUrl}/call`, { headers, body }, timeoutSeconds);
      return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn, exception);
    },
  }),
};

const createdSchema = z.object({ id: z.string().min(1).max(200) });
const blockedSchema = z.object({
  subscriptionLimits: z.object({ concurrencyBlocked: z.literal(true) }),
});
const refusedSchema = z.object({ message: z.string() });

function callIdIn(body: unknown): string | undefined {
  return createdSchema.safeParse(body).data?.id;
}

function exception(status: number, body: unknown): DialOutcome | undefined {
  if (status < 300 && blockedSchema.safeParse(body).success) {
    return { kind: "not_placed", code: "concurrency_blocked" };
  }
  const message = refusedSchema.safeParse(body).data?.message;
  if (status !== 400 || message === undefined) return undefined;
  if (/concurrency limit/i.test(message)) return { kind: "not_placed", code: "concurrency_limit" };
  if (/daily outbound call limit|wallet|credits|subscription|frozen|payment/i.test(message)) {
    return { kind: "account_refused", code: "account_limit" };
  }
  return { kind: "forbidden", code: "http_400" };
}
