import * as z from "zod";
import { type ProviderType, routeFields } from "./dialing-provider.ts";
import { httpsUrl } from "./https-url.ts";
import { outcomeOfJson, post } from "./post.ts";

const routeSchema = z.strictObject({
  ...routeFields,
  type: z.literal("retell"),
  baseUrl: httpsUrl.optional(),
  /** The agent's id; without it, the agent that the calling number is bound to. */
  agent: z.string().min(1).max(200).optional(),
  /** The number that calls, E.164: bought from or imported into Retell. */
  from: z.string().regex(/^\+[1-9]\d{6,14}$/, "must be an E.164 number"),
});

/**
 * Retell: `POST /v2/create-phone-call` (https://docs.retellai.com/api-references/create-phone-call), with
 * `Authorization: Bearer` and the account's secret `RETELL_API_KEY`. Retell calls one number a second unless it has
 * agreed to more, and its own SDK waits up to two minutes for an answer: mind `timeoutSeconds`.
 *
 * ```json
 * {"from_number": "+12025550100", "to_number": "+12025550123", "override_agent_id": "agent_…",
 *  "retell_llm_dynamic_variables": {"first_name": "Ada"}, "metadata": {"call_id": "call_…"}}
 * ```
 *
 * 201 with `call_id`: placed. Errors are `{"status": "error", "message": …}` without a code: their status decides.
 */
export const retell: ProviderType<z.infer<typeof routeSchema>> = {
  name: "retell",
  routeSchema,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY"],
  create: ({ secret, fetch, now }) => ({
    async dial({ id, request }, route, timeoutSeconds) {
      const { provider, baseUrl = "https://api.retellai.com", agent, from } = route;
      const body = JSON.stringify({
        from_number: from,
        to_number: request.phone_number,
        ...(agent === undefined ? {} : { override_agent_id: agent }),
        retell_llm_dynamic_variables: request.context ?? {},
        metadata: { call_id: id },
      });
      const headers = {
        authorization: `Bearer ${secret(provider, "API_KEY") ?? ""}`,
        "content-type": "application/json",
      };
      const url = `${baseUrl}/v2/create-phone-call`;
      const answer = await post(fetch, url, { headers, body }, timeoutSeconds);
      return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn);
    },
  }),
};

const createdSchema = z.object({ call_id: z.string().min(1).max(200) });

function callIdIn(body: unknown): string | undefined {
  return createdSchema.safeParse(body).data?.call_id;
}
