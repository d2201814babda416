import * as z from "../platform/zod.ts";
import type { DialOutcome, FoundCall, NotPlaced, ProviderAdapter } from "./dialing-provider.ts";
import { ask, outcomeOfJson, postJson } from "./post.ts";
import {
  conversationSchema,
  resultOfRow,
  rowSchema,
  sipWordIn,
  elevenlabsRecord,
} from "./results/elevenlabs.ts";
import { listReader, recordReader } from "./results/result.ts";
import { outcomeOfSip } from "./sip-status.ts";
import type { ElevenLabsRoute } from "./routes/elevenlabs.ts";

/**
 * ElevenLabs: `POST /v1/convai/twilio/outbound-call` or `/v1/convai/sip-trunk/outbound-call`
 * (https://elevenlabs.io/docs/eleven-agents/api-reference/twilio/outbound-call), with `xi-api-key` and the
 * account's secret `ELEVENLABS_API_KEY`.
 *
 * ```json
 * {"agent_id": "…", "agent_phone_number_id": "…", "to_number": "+12025550123",
 *  "conversation_initiation_client_data": {"dynamic_variables": {"first_name": "Ada"}, "user_id": "call_…"}}
 * ```
 *
 * 200 with `success: true`: placed. `success: false` has no published meaning. Its message may end in the SIP
 * status of the callee's side, which is read as LiveKit's is: 486 has rung. Otherwise such a call is unknown
 * and looked up. Errors have their code in `detail.code` or, older ones, `detail.status`; `quota_exceeded`
 * comes as a 401.
 *
 * `sip-trunk` answers once the phone has been answered or has rung out, so the phone may ring for
 * `timeoutSeconds` less 5 s, by `telephony_call_config.ringing_timeout_secs`, which is 60 by default.
 *
 * A look-up lists the conversations of `user_id`, which is our call's id, and reads each one to confirm it:
 * the rows of the list do not repeat the id, so a filter that was ignored would look like a match. A
 * conversation with `status: failed` may never have become a call: `metadata.error` tells.
 */
export const elevenlabs: ProviderAdapter<ElevenLabsRoute> = {
  create({ secret, fetch, now }) {
    const apiOf = ({ provider, baseUrl = "https://api.elevenlabs.io" }: Account) => ({
      url: `${baseUrl}/v1/convai`,
      headers: { "xi-api-key": secret(provider, "API_KEY") ?? "" },
    });
    return {
      async dial({ call: { id, request }, timeoutSeconds }, route) {
        const { agent, from, through } = route;
        const json = {
          agent_id: agent,
          agent_phone_number_id: from,
          to_number: request.phone_number,
          conversation_initiation_client_data: {
            dynamic_variables: request.context ?? {},
            user_id: id,
          },
          ...(through === "sip-trunk"
            ? { telephony_call_config: { ringing_timeout_secs: ringSecondsOf(timeoutSeconds) } }
            : {}),
        };
        const { url, headers } = apiOf(route);
        const callUrl = `${url}/${through}/outbound-call`;
        const answer = await postJson(fetch, callUrl, { headers, json }, timeoutSeconds);
        return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn, exception);
      },

      async lookUp({ call, attempt, from }, route): Promise<FoundCall | undefined> {
        const { url, headers } = apiOf(route);
        const query = new URLSearchParams({ user_id: call.id, page_size: "10" });
        const listed = listSchema.parse(
          await ask(fetch, `${url}/conversations?${query.toString()}`, { headers }),
        );
        const notPlaced: (NotPlaced | undefined)[] = [];
        for (const { conversation_id, start_time_unix_secs: startedAt } of listed.conversations) {
          if (startedAt * 1000 < from - 1000) continue; // a call of an earlier attempt
          const address = `${url}/conversations/${encodeURIComponent(conversation_id)}`;
          const { data } = conversationSchema.safeParse(await ask(fetch, address, { headers }));
          if (data?.user_id !== call.id) continue;
          const became = outcomeOfConversation(data);
          if (became === "placed") return { by: "id", providerCallId: conversation_id };
          notPlaced.push(became);
        }
        const [only, ...others] = notPlaced;
        // A conversation does not tell its attempt, so it proves something only of the first one.
        const isAlone = others.length === 0 && listed.has_more !== true;
        return only !== undefined && isAlone && attempt === 1
          ? { by: "id", notPlaced: only }
          : undefined;
      },

      readResult: recordReader(fetch, apiOf, "/conversations/", elevenlabsRecord),

      listResults: listReader(fetch, apiOf, {
        rowsMax: 100,
        ask(from, limit, cursor) {
          const query = new URLSearchParams({
            call_start_after_unix: String(Math.floor(from / 1000)),
            page_size: String(limit),
          });
          if (cursor !== undefined) query.set("cursor", cursor);
          return { path: `/conversations?${query.toString()}` };
        },
        read(answer) {
          const { conversations, next_cursor } = listSchema.parse(answer);
          return { rows: conversations, next: next_cursor };
        },
        idOf({ conversation_id }) {
          return conversation_id;
        },
        resultOf: resultOfRow,
      }),
    };
  },
};

/** Time that the phone may ring so that the answer still comes within the time limit, in seconds. */
function ringSecondsOf(timeoutSeconds: number): number {
  return Math.max(1, timeoutSeconds - 5);
}

type Account = Pick<ElevenLabsRoute, "provider" | "baseUrl">;

const id = z.nullish(z.string().check(z.minLength(1), z.maxLength(200)));
const createdSchema = z.object({
  success: z.literal(true),
  conversation_id: id,
  callSid: id,
  sip_call_id: id,
});
const listSchema = z.object({
  conversations: z.array(rowSchema),
  has_more: z.nullish(z.boolean()),
  next_cursor: z.nullish(z.string()),
});
/**
 * Returns what became of a conversation. Undefined: it failed, and it is not known whether the phone has rung.
 */
function outcomeOfConversation({
  status,
  metadata,
}: z.infer<typeof conversationSchema>): "placed" | NotPlaced | undefined {
  const lasted = (metadata?.call_duration_secs ?? 0) > 0;
  if (status !== "failed" || lasted) return "placed";
  const outcome = outcomeOfText(metadata?.error?.reason ?? "");
  if (outcome?.kind === "placed") return "placed";
  const isSure = outcome?.kind === "rejected" || outcome?.kind === "account_refused";
  return isSure ? outcome : undefined;
}

/** Reads the SIP status in a text of ElevenLabs. A phone that nobody answered in time has rung. */
function outcomeOfText(text: string): DialOutcome | undefined {
  const word = sipWordIn(text);
  if (word === "sip_request_timed_out") return { kind: "placed" };
  return word === undefined ? undefined : outcomeOfSip(word.slice("sip_".length));
}

function callIdIn(body: unknown): string | undefined {
  const { conversation_id, callSid, sip_call_id } = createdSchema.safeParse(body).data ?? {};
  return conversation_id ?? callSid ?? sip_call_id ?? undefined;
}

const failedSchema = z.object({
  success: z.literal(false),
  message: z.catch(z.string(), ""),
  conversation_id: z.catch(id, undefined),
});

function exception(status: number, body: unknown): DialOutcome | undefined {
  const failed = status === 200 ? failedSchema.safeParse(body).data : undefined;
  if (failed === undefined) return undefined;
  const outcome = outcomeOfText(failed.message);
  if (outcome?.kind !== "placed") return outcome ?? { kind: "unknown", code: "success_false" };
  return { kind: "placed", providerCallId: failed.conversation_id ?? undefined };
}
