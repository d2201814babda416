import * as z from "../platform/zod.ts";
import type { DialOutcome, FoundCall, ProviderAdapter } from "./dialing-provider.ts";
import { ask, outcomeOfJson, postJson } from "./post.ts";
import { listReader, recordReader } from "./results/result.ts";
import { callSchema, hasFailedEarly, resultOfCall, ultravoxRecord } from "./results/ultravox.ts";
import type { UltravoxRoute } from "./routes/ultravox.ts";

/**
 * Ultravox: `POST /api/agents/{agent_id}/calls` (https://docs.ultravox.ai/api-reference/agents/agents-calls-post),
 * with `X-API-Key` and the account's secret `ULTRAVOX_API_KEY`. Ultravox itself has the carrier call the
 * number, so the carrier's own calls per second count too.
 *
 * ```json
 * {"templateContext": {"first_name": "Ada"}, "metadata": {"call_id": "call_…", "attempt": "1"},
 *  "medium": {"twilio": {"outgoing": {"to": "+12025550123", "from": "+12025550100"}}}}
 * ```
 *
 * A SIP trunk is called at a SIP URI: `{"sip": {"outgoing": {"to": "sip:+12025550123@…", "from": "sip:…"}}}`.
 *
 * 201 with `callId`: placed. 429 is a limit of calls at once or of calls a second or minute
 * (https://docs.ultravox.ai/gettingstarted/concurrency). The form of errors is not published: their status
 * decides. A 404 with a JSON `detail` is the agent's, as the address names nothing else.
 *
 * A look-up is `GET /api/calls?metadata.call_id=…` (https://docs.ultravox.ai/api-reference/calls/calls-list).
 * The rows repeat the metadata, so a filter that was ignored finds nothing. A call that ended by an error
 * before anybody had joined may have failed before the phone rang: it stays unknown, and a person decides.
 */
export const ultravox: ProviderAdapter<UltravoxRoute> = {
  create({ secret, fetch, now }) {
    const apiOf = ({ provider, baseUrl = "https://api.ultravox.ai" }: UltravoxRoute) => ({
      url: `${baseUrl}/api`,
      headers: { "x-api-key": secret(provider, "API_KEY") ?? "" },
    });
    return {
      async dial({ call: { id, request }, attempt, timeoutSeconds, callbackUrl }, route) {
        const password = secret(route.provider, "SIP_PASSWORD");
        const json = {
          templateContext: request.context ?? {},
          metadata: { call_id: id, attempt: String(attempt) },
          ...(callbackUrl === undefined ? {} : { callbacks: { ended: { url: callbackUrl } } }),
          medium: { [route.through]: { outgoing: legOf(request.phone_number, route, password) } },
        };
        const { url, headers } = apiOf(route);
        const callUrl = `${url}/agents/${encodeURIComponent(route.agent)}/calls`;
        const answer = await postJson(fetch, callUrl, { headers, json }, timeoutSeconds);
        return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn, exception);
      },

      async lookUp({ call: { id }, attempt }, route): Promise<FoundCall | undefined> {
        const { url, headers } = apiOf(route);
        const query = new URLSearchParams({ "metadata.call_id": id, pageSize: "20" });
        const { results } = listSchema.parse(
          await ask(fetch, `${url}/calls?${query.toString()}`, { headers }),
        );
        const found = results.find(
          (one) =>
            one.metadata?.["call_id"] === id &&
            one.metadata["attempt"] === String(attempt) &&
            !hasFailedEarly(one),
        );
        return found && { by: "id", providerCallId: found.callId };
      },

      readResult: recordReader(fetch, apiOf, "/calls/", ultravoxRecord),

      listResults: listReader(fetch, apiOf, {
        rowsMax: 100,
        ask(from, limit, cursor) {
          const fromDate = new Date(from).toISOString();
          const query = new URLSearchParams({ fromDate, pageSize: String(limit) });
          if (cursor !== undefined) query.set("cursor", cursor);
          return { path: `/calls?${query.toString()}` };
        },
        read(answer) {
          const { results, next } = listSchema.parse(answer);
          return { rows: results, next: next && new URL(next).searchParams.get("cursor") };
        },
        idOf({ callId }) {
          return callId;
        },
        resultOf: resultOfCall,
      }),
    };
  },
};

/** Returns the two ends of the carrier's call. A SIP trunk takes no numbers, only SIP URIs. */
function legOf(
  to: string,
  { from, sipHost, sipUser: username }: UltravoxRoute,
  password: string | undefined,
): Record<string, string | undefined> {
  if (sipHost === undefined) return { to, from };
  const ends = { to: `sip:${to}@${sipHost}`, from: `sip:${from}@${sipHost}` };
  return username === undefined ? ends : { ...ends, username, password };
}

const createdSchema = z.object({ callId: z.string().check(z.minLength(1), z.maxLength(200)) });
const listSchema = z.object({
  results: z.array(callSchema),
  /** Address of the next page, of which only its cursor is used. */
  next: z.nullish(z.url()),
});

function callIdIn(body: unknown): string | undefined {
  return createdSchema.safeParse(body).data?.callId;
}

function exception(status: number, body: unknown): DialOutcome | undefined {
  const isDetailed = z.object({ detail: z.string() }).safeParse(body).success;
  return status === 404 && isDetailed
    ? { kind: "route_refused", code: "ultravox_agent_not_found" }
    : undefined;
}
