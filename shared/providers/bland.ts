import * as z from "../platform/zod.ts";
import type { DialOutcome, FoundCall, ProviderAdapter } from "./dialing-provider.ts";
import { ask, outcomeOfJson, postJson } from "./post.ts";
import { detailsSchema, neverStarted, blandRecord } from "./results/bland.ts";
import { recordReader } from "./results/result.ts";
import type { BlandRoute } from "./routes/bland.ts";

/**
 * Bland: `POST /v1/calls` (https://docs.bland.ai/api-v1/post/calls), with `authorization` and the account's
 * secret `BLAND_API_KEY`, which stands there alone.
 *
 * ```json
 * {"phone_number": "+12025550123", "pathway_id": "…", "from": "+12025550100",
 *  "request_data": {"first_name": "Ada"}, "metadata": {"call_id": "call_…", "attempt": "1"}}
 * ```
 *
 * 200 with `status: "success"` and `call_id`: placed, possibly only in Bland's own queue. Errors are
 * `{status: "error", message}`, in newer answers with `errors[].message`, and have no code. One status, 429,
 * says three things: see `exception`. The message is read and never repeated, as it may quote the number.
 *
 * A look-up lists the calls of the day (https://docs.bland.ai/api-v1/get/calls), newest first. Its filter
 * `to_number` would put the callee's number into the address, so the rows are compared here. The example of
 * the list has no metadata, so each call to the number in that time is read by its id
 * (https://docs.bland.ai/api-v1/get/calls-id), and counts only if its metadata has our id and attempt.
 */
export const bland: ProviderAdapter<BlandRoute> = {
  create({ secret, fetch, now }) {
    const apiOf = ({ provider, baseUrl = "https://api.bland.ai" }: Account) => ({
      url: `${baseUrl}/v1/calls`,
      headers: { authorization: secret(provider, "API_KEY") ?? "" },
    });
    return {
      async dial({ call: { id, request }, attempt, timeoutSeconds }, route) {
        const { pathway, task, from } = route;
        const json = {
          phone_number: request.phone_number,
          ...(pathway === undefined ? { task } : { pathway_id: pathway }),
          ...(from === undefined ? {} : { from }),
          request_data: request.context ?? {},
          metadata: { call_id: id, attempt: String(attempt) },
        };
        const { url, headers } = apiOf(route);
        const answer = await postJson(fetch, url, { headers, json }, timeoutSeconds);
        return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn, exception);
      },

      async lookUp({ call, attempt, from, until }, route): Promise<FoundCall | undefined> {
        const { url, headers } = apiOf(route);
        for (let page = 0; page < pagesMax; page++) {
          const query = new URLSearchParams({
            ...(route.from === undefined ? {} : { from_number: route.from }),
            // The time zone of these days is not said, so a day is added on both sides.
            start_date: new Date(from - dayMs).toISOString().slice(0, 10),
            end_date: new Date(until + dayMs).toISOString().slice(0, 10),
            ascending: "false",
            from: String(page * pageCalls),
            limit: String(pageCalls),
          });
          const answer = await ask(fetch, `${url}?${query.toString()}`, { headers });
          const { calls } = listSchema.parse(answer);
          for (const { call_id, to, created_at } of calls) {
            const createdAt = Date.parse(created_at);
            if (createdAt < from - 1000 || createdAt > until) continue;
            if (!isSameNumber(to, call.request.phone_number)) continue;
            const details = await ask(fetch, `${url}/${encodeURIComponent(call_id)}`, { headers });
            const { metadata, queue_status } = detailsSchema.safeParse(details).data ?? {};
            const isOurs =
              metadata?.["call_id"] === call.id && metadata["attempt"] === String(attempt);
            if (isOurs && !neverStarted.has(queue_status ?? "")) {
              return { by: "id", providerCallId: call_id };
            }
          }
          const isPast = calls.some(({ created_at }) => Date.parse(created_at) < from - 1000);
          if (isPast || calls.length < pageCalls) return undefined;
        }
        return undefined;
      },

      readResult: recordReader(fetch, apiOf, "/", blandRecord),
    };
  },
};

type Account = Pick<BlandRoute, "provider" | "baseUrl">;

const dayMs = 86_400_000;
/** Calls per page, each with its summary and variables, and maximum pages that are read. */
const pageCalls = 200;
const pagesMax = 5;

const createdSchema = z.object({
  status: z.literal("success"),
  call_id: z.string().check(z.minLength(1), z.maxLength(200)),
});
const listSchema = z.object({
  calls: z.array(
    z.object({
      call_id: z.string().check(z.minLength(1), z.maxLength(200)),
      to: z.nullish(z.string()),
      created_at: z.string(),
    }),
  ),
});
const refusedSchema = z.object({
  message: z.nullish(z.string()),
  errors: z.catch(z.nullish(z.array(z.object({ message: z.string() }))), null),
});

/** Older examples of the list have a number without its country code, so one may be the end of the other. */
function isSameNumber(listed: string | null | undefined, number: string): boolean {
  const digits = listed?.replaceAll(/\D/g, "") ?? "";
  return digits.length >= 7 && number.endsWith(digits);
}

function callIdIn(body: unknown): string | undefined {
  return createdSchema.safeParse(body).data?.call_id;
}

/**
 * Reads the message of a refusal. "Calls can only be sent every 10 seconds to the same number" and a limit of
 * calls, of the account or of new accounts, pass: such a call is sent later. A number on a blacklist is
 * refused for good. Which status an empty balance has is not said, so a 400 about it is the account's.
 */
function exception(status: number, body: unknown): DialOutcome | undefined {
  const { message, errors } = refusedSchema.safeParse(body).data ?? {};
  const text = [message, ...(errors ?? []).map((error) => error.message)].join("\n");
  if (status === 429 && /blacklist/i.test(text)) {
    const code = "bland_blacklisted";
    return /number/i.test(text)
      ? { kind: "rejected", code, blamesNumber: true }
      : { kind: "forbidden", code };
  }
  if (status === 429 && /same number/i.test(text)) {
    return { kind: "not_placed", code: "bland_same_number" };
  }
  if (status === 400 && /insufficient (balance|credits?|funds)/i.test(text)) {
    return { kind: "account_refused", code: "bland_balance" };
  }
  return undefined;
}
