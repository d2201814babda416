/**
 * ElevenLabs: `POST /v1/convai/twilio/outbound-call`, `…/sip-trunk/outbound-call` or `…/exotel/outbound-call`
 * (https://elevenlabs.io/docs/eleven-agents/api-reference/twilio/outbound-call), with `xi-api-key` and the
 * account's secret `ELEVENLABS_API_KEY`.
 *
 * ```json
 * {"agent_id": "…", "agent_phone_number_id": "…", "to_number": "+12025550123",
 *  "conversation_initiation_client_data": {"dynamic_variables": {"first_name": "Ada"}, "user_id": "call_…"}}
 * ```
 *
 * 200 with `success: true`: placed. `success: false` has no published meaning. Its message may end in the SIP status
 * of the callee's side, which decides as it does for LiveKit, also in an error: 486 means that the phone has rung. Otherwise
 * such a call is unknown and looked up. Errors have their code in `detail.code` or, older ones, `detail.status`;
 * `quota_exceeded` comes as a 401. A 404 and an invalid field of the route count as refusals of the agent.
 *
 * `sip-trunk` answers once the phone has been answered or has rung out, so the phone may ring for
 * `timeoutSeconds` less 5 s, by `telephony_call_config.ringing_timeout_secs`, which is 60 by default.
 *
 * A look-up lists the conversations of `user_id`, which is our call's id, and reads each one to confirm it:
 * the rows of the list do not repeat the id, so a filter that was ignored would look like a match. A
 * conversation with `status: failed` may never have become a call: `metadata.error` says so.
 */
import { wishField } from "../calls/tries.ts";
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText } from "./define-provider.ts";
import { callIdIn, exception, outcomeOfText, sipWordIn } from "./elevenlabs-answers.ts";
import { ask, toOutcome, postJson } from "./provider-http.ts";
import {
  createListReader,
  fieldIn,
  type ListType,
  optionalNumber,
  optionalText,
  createRecordReader,
  type RecordType,
  resultOf,
  createWords,
} from "./provider-records.ts";
import type { FoundCall, NotPlaced, ReadResult } from "./provider.ts";

/** Routes of ElevenLabs, as a dial plan has them. */
export const elevenlabsRoutes = defineRoute(
  "elevenlabs",
  (fields) =>
    z.strictObject({
      ...fields,
      baseUrl: z.optional(httpsUrl),
      /** Id of the agent. */
      agent: idText,
      /** Id of the calling phone number. */
      from: idText,
      /** Connection of that number. */
      through: z.enum(["exotel", "twilio", "sip-trunk"]),
    }),
  {
    callsPerSecond: 1,
    secrets: ["API_KEY"],
    reportsVoicemail: () => true,
    readsWishes: true,
    contextProblem: ({ context = {} }) =>
      Object.keys(context).some((key) => key.startsWith("system__"))
        ? "must not have a key that begins with system__, which ElevenLabs keeps for itself"
        : undefined,
  },
);
type ElevenLabsRoute = z.infer<typeof elevenlabsRoutes.routeSchema>;

export const elevenlabs = /* @__PURE__ */ defineProvider(
  elevenlabsRoutes,
  ({ secret, fetch, now }) => {
    const apiOf = ({ account, baseUrl = "https://api.elevenlabs.io" }: ElevenLabsRoute) => ({
      url: `${baseUrl}/v1/convai`,
      headers: { "xi-api-key": secret(account, "API_KEY") ?? "" },
    });
    return {
      async dial({ call: { id, request }, timeoutSeconds, guarded }, route) {
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
        const answer = await postJson(guarded(fetch), callUrl, { headers, json, timeoutSeconds });
        return toOutcome(answer, { callIdIn, exception }, now());
      },

      async lookUp({ call, attempt, from }, route): Promise<FoundCall | undefined> {
        const { url, headers } = apiOf(route);
        const query = new URLSearchParams({ user_id: call.id, page_size: "10" });
        const listed = z
          .built(listSchema)
          .parse(await ask(fetch, `${url}/conversations?${query.toString()}`, { headers }));
        const notPlaced: (NotPlaced | undefined)[] = [];
        for (const { conversation_id, start_time_unix_secs: startedAt } of listed.conversations) {
          if (startedAt * 1000 < from - 1000) continue; // a call of an earlier attempt
          const address = `${url}/conversations/${encodeURIComponent(conversation_id)}`;
          const { data } = z
            .built(conversationSchema)
            .safeParse(await ask(fetch, address, { headers }));
          if (data?.user_id !== call.id) continue;
          const became = outcomeOfConversation(data);
          if (became === "placed") return { by: "id", providerCallId: conversation_id };
          notPlaced.push(became);
        }
        const [only, ...others] = notPlaced;
        // A conversation does not name its attempt, so it proves something only about the first one.
        const isAlone = others.length === 0 && listed.has_more !== true;
        return only !== undefined && isAlone && attempt === 1
          ? { by: "id", notPlaced: only }
          : undefined;
      },

      readResult: createRecordReader(fetch, apiOf, { path: "/conversations/", record }),

      listResults: createListReader(fetch, apiOf, list),
    };
  },
);

/** Maximum ringing time, in seconds, with which the answer still comes within the time limit. */
function ringSecondsOf(timeoutSeconds: number): number {
  return Math.max(1, timeoutSeconds - 5);
}

const listSchema = () =>
  z.object({
    conversations: z.array(rowSchema()),
    has_more: z.nullish(z.boolean()),
    next_cursor: z.nullish(z.string()),
  });

/** A row of the list of conversations. */
const rowSchema = () =>
  z.object({
    conversation_id: idText,
    start_time_unix_secs: z.number(),
    call_duration_secs: optionalNumber(),
    status: optionalText(),
    tool_names: z.catch(z.nullish(z.array(z.string())), null),
  });

const conversationSchema = () =>
  z.object({
    user_id: z.nullish(z.string()),
    status: z.nullish(z.string()),
    metadata: z.nullish(
      z.object({
        start_time_unix_secs: optionalNumber(),
        accepted_time_unix_secs: optionalNumber(),
        call_duration_secs: z.nullish(z.number()),
        error: z.nullish(z.object({ reason: z.nullish(z.string()) })),
        features_usage: z.catch(
          z.nullish(
            z.object({
              voicemail_detection: z.nullish(z.object({ used: z.nullish(z.boolean()) })),
            }),
          ),
          null,
        ),
      }),
    ),
  });
type Conversation = z.infer<ReturnType<typeof conversationSchema>>;

/** True if the callee has answered. A SIP status in the error may be that of a transfer then. */
function isAccepted({ metadata }: Conversation): boolean {
  return metadata?.accepted_time_unix_secs != null;
}

/** Returns the outcome of a conversation. Undefined: it failed, and it is not known whether the phone has rung. */
function outcomeOfConversation(one: Conversation): "placed" | NotPlaced | undefined {
  const { status, metadata } = one;
  const lasted = (metadata?.call_duration_secs ?? 0) > 0;
  if (status !== "failed" || lasted || isAccepted(one)) return "placed";
  const outcome = outcomeOfText(metadata?.error?.reason ?? "");
  if (outcome?.kind === "placed") return "placed";
  const isSure = outcome?.kind === "rejected" || outcome?.kind === "account_refused";
  return isSure ? outcome : undefined;
}

/**
 * Values of `status` (elevenlabs-js, GetConversationResponseModelStatus), and SIP statuses of the callee's side in
 * the error of a conversation that failed (RFC 3261, section 21; 607: RFC 8197; 608: RFC 8688). The record of a
 * conversation that is `processing` is incomplete. Exchanges answer 5xx after the phone has rung, too.
 */
const words = /* @__PURE__ */ createWords(
  ["live", "initiated in-progress processing"],
  ["completed", "done"],
  ["no_answer", "sip_408 sip_480 sip_487 sip_request_timed_out"],
  ["busy", "sip_486 sip_600"],
  ["declined", "sip_603"],
  ["invalid", "sip_404 sip_410 sip_484 sip_604"],
  ["blocked", "carrier_blocked sip_403 sip_607 sip_608"],
  ["failed", "sip_401 sip_402 sip_407"],
  ["unknown", "failed sip_488 sip_500 sip_502 sip_503 sip_504"],
);

/** A conversation whose result is read. */
const reportSchema = () =>
  z.extend(conversationSchema(), {
    status: z.string(),
    analysis: z.optional(z.unknown()),
  });

/** A conversation shows that a machine answered only if its agent has the tool that detects voicemail. */
function resultOfConversation(one: Conversation): ReadResult {
  const { status, metadata } = one;
  const { start_time_unix_secs, accepted_time_unix_secs, call_duration_secs } = metadata ?? {};
  const sip = status === "failed" ? sipWordIn(metadata?.error?.reason ?? "") : undefined;
  return resultOf(words, {
    word: sip ?? status,
    human: metadata?.features_usage?.voicemail_detection?.used === true ? false : null,
    isAnswered: status === "failed" && isAccepted(one),
    ...timesOf(status, accepted_time_unix_secs ?? start_time_unix_secs, call_duration_secs),
  });
}

/** Returns the result of a row. Undefined for a failed conversation, whose record says more. */
function resultOfRow(row: z.infer<ReturnType<typeof rowSchema>>): ReadResult | undefined {
  const { status, start_time_unix_secs, call_duration_secs, tool_names } = row;
  if (status === "failed") return undefined;
  return resultOf(words, {
    word: status,
    human: tool_names?.includes("voicemail_detection") === true ? false : null,
    ...timesOf(status, start_time_unix_secs, call_duration_secs),
  });
}

function timesOf(
  status: string | null | undefined,
  from: number | null | undefined,
  seconds: number | null | undefined,
) {
  const began = status === "done" || (seconds ?? 0) > 0;
  if (!began || from == null) return { seconds };
  const answeredAt = from * 1000;
  return { answeredAt, endedAt: answeredAt + (seconds ?? 0) * 1000, seconds };
}

const list: ListType<z.infer<ReturnType<typeof rowSchema>>> = {
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
    const { conversations, next_cursor } = z.built(listSchema).parse(answer);
    return { rows: conversations, next: next_cursor };
  },
  idOf: ({ conversation_id }) => conversation_id,
  resultOf: resultOfRow,
};

const record: RecordType<z.infer<ReturnType<typeof reportSchema>>> = {
  schema: reportSchema,
  ownIn({ user_id }) {
    return { call_id: user_id ?? undefined };
  },
  resultOf: resultOfConversation,
  /** https://elevenlabs.io/docs/eleven-agents/workflows/post-call-webhooks: the data is that of the record. */
  analysesOf({ analysis }) {
    const collected = fieldIn(analysis, "data_collection_results");
    return [analysis && { [wishField]: fieldIn(fieldIn(collected, wishField), "value") }];
  },
};
