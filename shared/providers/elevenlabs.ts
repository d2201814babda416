import * as z from "zod";
import {
  type DialOutcome,
  type FoundCall,
  type ProviderType,
  routeFields,
} from "./dialing-provider.ts";
import { httpsUrl } from "./https-url.ts";
import { ask, outcomeOfJson, postJson } from "./post.ts";

const routeSchema = z.strictObject({
  ...routeFields,
  type: z.literal("elevenlabs"),
  baseUrl: httpsUrl.optional(),
  /** Id of the agent. */
  agent: z.string().min(1).max(200),
  /** Id of the calling phone number. */
  from: z.string().min(1).max(200),
  /** Connection of that number. */
  through: z.enum(["twilio", "sip-trunk"]),
});

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
 * 200 with `success: true`: placed. The meaning of `success: false` is not published, so such a call is
 * unknown and looked up. Errors have their code in `detail.code` or, older ones, `detail.status`;
 * `quota_exceeded` comes as a 401.
 *
 * A look-up lists the conversations of `user_id`, which is our call's id, and reads each one to confirm it:
 * the rows of the list do not repeat the id, so a filter that was ignored would look like a match.
 */
export const elevenlabs: ProviderType<z.infer<typeof routeSchema>> = {
  name: "elevenlabs",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY"],
  contextProblem: ({ context = {} }) =>
    Object.keys(context).some((key) => key.startsWith("system__"))
      ? "must not have a key that begins with system__, which ElevenLabs keeps for itself"
      : undefined,
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
        };
        const { url, headers } = apiOf(route);
        const callUrl = `${url}/${through}/outbound-call`;
        const answer = await postJson(fetch, callUrl, { headers, json }, timeoutSeconds);
        return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn, exception);
      },

      async lookUp({ call, from }, route): Promise<FoundCall | undefined> {
        const { url, headers } = apiOf(route);
        const query = new URLSearchParams({ user_id: call.id, page_size: "10" });
        const listed = listSchema.parse(
          await ask(fetch, `${url}/conversations?${query.toString()}`, { headers }),
        );
        for (const { conversation_id, start_time_unix_secs: startedAt } of listed.conversations) {
          if (startedAt * 1000 < from - 1000) continue; // a call of an earlier attempt
          const address = `${url}/conversations/${encodeURIComponent(conversation_id)}`;
          const conversation = conversationSchema.safeParse(await ask(fetch, address, { headers }));
          if (conversation.data?.user_id === call.id) {
            return { by: "id", providerCallId: conversation_id };
          }
        }
        return undefined;
      },
    };
  },
};

type Account = Pick<z.infer<typeof routeSchema>, "provider" | "baseUrl">;

const id = z.string().min(1).max(200).nullish();
const createdSchema = z.object({
  success: z.literal(true),
  conversation_id: id,
  callSid: id,
  sip_call_id: id,
});
const listSchema = z.object({
  conversations: z.array(
    z.object({
      conversation_id: z.string().min(1).max(200),
      start_time_unix_secs: z.number(),
    }),
  ),
});
const conversationSchema = z.object({ user_id: z.string().nullish() });

function callIdIn(body: unknown): string | undefined {
  const { conversation_id, callSid, sip_call_id } = createdSchema.safeParse(body).data ?? {};
  return conversation_id ?? callSid ?? sip_call_id ?? undefined;
}

function exception(status: number, body: unknown): DialOutcome | undefined {
  const failed = z.object({ success: z.literal(false) }).safeParse(body).success;
  return status === 200 && failed ? { kind: "unknown", code: "success_false" } : undefined;
}
