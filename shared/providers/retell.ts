import * as z from "../platform/zod.ts";
import type { FoundCall, ProviderAdapter } from "./dialing-provider.ts";
import { ask, outcomeOfJson, postJson } from "./post.ts";
import { listReader, recordReader } from "./results/result.ts";
import { callSchema, resultOfCall, retellRecord } from "./results/retell.ts";
import type { RetellRoute } from "./routes/retell.ts";

/**
 * Retell: `POST /v2/create-phone-call` (https://docs.retellai.com/api-references/create-phone-call), with
 * `Authorization: Bearer` and the account's secret `RETELL_API_KEY`. Retell calls one number a second unless
 * it has agreed to more. Its own SDK waits up to two minutes for an answer, so `timeoutSeconds` matters.
 *
 * ```json
 * {"from_number": "+12025550100", "to_number": "+12025550123", "override_agent_id": "agent_…",
 *  "retell_llm_dynamic_variables": {"first_name": "Ada"}, "metadata": {"call_id": "call_…", "attempt": "1"}}
 * ```
 *
 * 201 with `call_id`: placed. Errors are `{"status": "error", "message": …}` without a code: their status
 * decides. A look-up is `POST /v3/list-calls`, filtered by the call's id in `metadata`. The result is read by
 * `GET /v2/get-call/{call_id}`.
 */
export const retell: ProviderAdapter<RetellRoute> = {
  create({ secret, fetch, now }) {
    const apiOf = ({ provider, baseUrl = "https://api.retellai.com" }: Account) => ({
      url: baseUrl,
      headers: { authorization: `Bearer ${secret(provider, "API_KEY") ?? ""}` },
    });
    return {
      async dial({ call: { id, request }, attempt, timeoutSeconds, callbackUrl }, route) {
        const json = {
          from_number: route.from,
          to_number: request.phone_number,
          ...(route.agent === undefined ? {} : { override_agent_id: route.agent }),
          retell_llm_dynamic_variables: request.context ?? {},
          metadata: { call_id: id, attempt: String(attempt) },
          ...(route.callbacks === true && callbackUrl !== undefined
            ? { agent_override: { agent: { webhook_url: callbackUrl } } }
            : {}),
        };
        const { url, headers } = apiOf(route);
        const callUrl = `${url}/v2/create-phone-call`;
        const answer = await postJson(fetch, callUrl, { headers, json }, timeoutSeconds);
        return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn);
      },

      async lookUp({ call: { id }, attempt }, route): Promise<FoundCall | undefined> {
        const { url, headers } = apiOf(route);
        const ofThisCall = { type: "string", op: "eq", key: "call_id", value: id };
        const json = { filter_criteria: { metadata: [ofThisCall] }, limit: 10 };
        const { items } = listSchema.parse(
          await ask(fetch, `${url}/v3/list-calls`, { headers, json }),
        );
        const found = items.find(
          ({ metadata }) => metadata?.["call_id"] === id && metadata["attempt"] === String(attempt),
        );
        return found && { by: "id", providerCallId: found.call_id };
      },

      readResult: recordReader(fetch, apiOf, "/v2/get-call/", retellRecord),

      listResults: listReader(fetch, apiOf, {
        rowsMax: 200,
        ask(value, limit, pagination_key) {
          const filter_criteria = { start_timestamp: { type: "number", op: "ge", value } };
          const json = { filter_criteria, sort_order: "ascending", limit, pagination_key };
          return { path: "/v3/list-calls", json };
        },
        read(answer) {
          const { items, has_more, pagination_key } = listSchema.parse(answer);
          return { rows: items, next: has_more === true ? pagination_key : null };
        },
        idOf({ call_id }) {
          return call_id;
        },
        resultOf: resultOfCall,
      }),
    };
  },
};

type Account = Pick<RetellRoute, "provider" | "baseUrl">;

const createdSchema = z.object({ call_id: z.string().check(z.minLength(1), z.maxLength(200)) });
/** The reference requires no field of a list, so an empty one may come without `items`. */
const listSchema = z.object({
  items: z._default(z.array(callSchema), []),
  has_more: z.nullish(z.boolean()),
  pagination_key: z.nullish(z.string()),
});

function callIdIn(body: unknown): string | undefined {
  return createdSchema.safeParse(body).data?.call_id;
}
