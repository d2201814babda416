/**
 * Retell: `POST /v2/create-phone-call` (https://docs.retellai.com/api-references/create-phone-call), with
 * `Authorization: Bearer` and the account's secret `RETELL_API_KEY`. Retell places one call a second unless it has
 * agreed to more. Its SDK waits up to two minutes for an answer, so `timeoutSeconds` matters.
 *
 * ```json
 * {"from_number": "+12025550100", "to_number": "+12025550123", "override_agent_id": "agent_…",
 *  "retell_llm_dynamic_variables": {"first_name": "Ada"}, "metadata": {"call_id": "call_…", "attempt": "1"}}
 * ```
 *
 * 201 with `call_id`: placed. Errors are `{"status": "error", "message": …}` without a code: their status decides,
 * except for a 422 that means that an agent or a calling number does not exist. A look-up is `POST /v3/list-calls`,
 * filtered by the call's id in `metadata`. The result is read by `GET /v2/get-call/{call_id}`. A Boolean field
 * `do_not_call` of the agent's post-call analysis puts the callee onto the do-not-call list.
 */
import { minuteMs } from "../lib/units.ts";
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText, phoneNumber } from "./define-provider.ts";
import { ask, toOutcome, postJson } from "./provider-http.ts";
import {
  createListReader,
  optionalNumber,
  optionalText,
  createRecordReader,
  type RecordType,
  resultOf,
  createWords,
} from "./provider-records.ts";
import type { DialOutcome, FoundCall, ReadResult } from "./provider.ts";

/** Routes of Retell, as a dial plan has them. */
export const retellRoutes = defineRoute(
  "retell",
  (fields) =>
    z.strictObject({
      ...fields,
      baseUrl: z.optional(httpsUrl),
      /** Id of the agent. Without it, the agent bound to the calling number answers. */
      agent: z.optional(idText),
      /** The calling number, E.164, bought from or imported into Retell. */
      from: phoneNumber,
      /**
       * True to have Retell send a call's events to this service instead of to the webhook of the agent or the
       * account.
       */
      callbacks: z.optional(z.boolean()),
    }),
  {
    callsPerSecond: 1,
    hasCallerId: true,
    secrets: ["API_KEY"],
    reportsVoicemail: () => true,
    readsWishes: true,
  },
);
type RetellRoute = z.infer<typeof retellRoutes.routeSchema>;

/** Maximum of the request's duration limit (retell-sdk, AgentOverride). */
const callMinutesMax = 120;

export const retell = /* @__PURE__ */ defineProvider(retellRoutes, ({ secret, fetch, now }) => {
  const apiOf = ({ account, baseUrl = "https://api.retellai.com" }: RetellRoute) => ({
    url: baseUrl,
    headers: { authorization: `Bearer ${secret(account, "API_KEY") ?? ""}` },
  });
  return {
    async dial({ call: { id, request }, attempt, timeoutSeconds, guarded, ...more }, route) {
      const { callbackUrl, maxCallMinutes } = more;
      const override = {
        ...(route.callbacks === true && callbackUrl !== undefined
          ? { webhook_url: callbackUrl }
          : {}),
        ...(maxCallMinutes === undefined
          ? {}
          : { max_call_duration_ms: Math.min(maxCallMinutes, callMinutesMax) * minuteMs }),
      };
      const json = {
        from_number: route.from,
        to_number: request.phone_number,
        ...(route.agent === undefined ? {} : { override_agent_id: route.agent }),
        retell_llm_dynamic_variables: request.context ?? {},
        metadata: { call_id: id, attempt: String(attempt) },
        ...(Object.keys(override).length === 0 ? {} : { agent_override: { agent: override } }),
      };
      const { url, headers } = apiOf(route);
      const callUrl = `${url}/v2/create-phone-call`;
      const answer = await postJson(guarded(fetch), callUrl, { headers, json, timeoutSeconds });
      return toOutcome(answer, { callIdIn, exception }, now());
    },

    async lookUp({ call: { id }, attempt }, route): Promise<FoundCall | undefined> {
      const { url, headers } = apiOf(route);
      const ofThisCall = { type: "string", op: "eq", key: "call_id", value: id };
      const json = { filter_criteria: { metadata: [ofThisCall] }, limit: 10 };
      const listed = await ask(fetch, `${url}/v3/list-calls`, { headers, json });
      const { items } = z.built(listSchema).parse(listed);
      const found = items.find(
        ({ metadata }) => metadata?.["call_id"] === id && metadata["attempt"] === String(attempt),
      );
      return found && { by: "id", providerCallId: found.call_id };
    },

    // Retell analyses a call after its end, and calls back once more then.
    recordsOptOuts: true,
    readResult: createRecordReader(fetch, apiOf, { path: "/v2/get-call/", record }),

    listResults: createListReader(fetch, apiOf, {
      rowsMax: 200,
      ask(value, limit, pagination_key) {
        const filter_criteria = { start_timestamp: { type: "number", op: "ge", value } };
        const json = { filter_criteria, sort_order: "ascending", limit, pagination_key };
        return { path: "/v3/list-calls", json };
      },
      read(answer) {
        const { items, has_more, pagination_key } = z.built(listSchema).parse(answer);
        return { rows: items, next: has_more === true ? pagination_key : null };
      },
      idOf({ call_id }) {
        return call_id;
      },
      resultOf: resultOfCall,
    }),
  };
});

const createdSchema = () => z.object({ call_id: idText });

function callIdIn(body: unknown): string | undefined {
  return z.built(createdSchema).safeParse(body).data?.call_id;
}

const refusedSchema = () => z.object({ message: z.string() });

/**
 * Returns the refusal of a missing asset, or of the number called. The request names only a calling number and an agent,
 * so a missing asset is the route's.
 */
function exception(status: number, body: unknown): DialOutcome | undefined {
  const message = z.built(refusedSchema).safeParse(body).data?.message ?? "";
  if (status === 422 && /\bcannot find requested asset\b/i.test(message)) {
    return { kind: "route_refused", code: "http_422" };
  }
  const isOfNumber = /\bto_number\b/.test(message) && !/\bfrom_number\b/.test(message);
  return isOfNumber && (status === 400 || status === 422)
    ? { kind: "rejected", code: `http_${status}`, blamesNumber: true }
    : undefined;
}

/** The reference requires no field of a list, so an empty one may come without `items`. */
const listSchema = () =>
  z.object({
    items: z._default(z.array(callSchema()), []),
    has_more: z.nullish(z.boolean()),
    pagination_key: z.nullish(z.string()),
  });

/** A call in Retell's records. Times are in milliseconds since the epoch. */
const callSchema = () =>
  z.object({
    call_id: idText,
    call_status: optionalText(),
    /** Another application's call may have any metadata. */
    metadata: z.catch(z.nullish(z.record(z.string(), z.unknown())), null),
    disconnection_reason: optionalText(),
    start_timestamp: optionalNumber(),
    end_timestamp: optionalNumber(),
    duration_ms: optionalNumber(),
    /** In cents. */
    call_cost: z.catch(z.nullish(z.object({ combined_cost: z.nullish(z.number()) })), null),
    call_analysis: z.catch(
      z.nullish(
        z.object({
          in_voicemail: z.nullish(z.boolean()),
          /** Fields that the agent's owner has named. They may hold anything. */
          custom_analysis_data: z.catch(z.nullish(z.record(z.string(), z.unknown())), null),
        }),
      ),
      null,
    ),
  });

/** Values of `disconnection_reason` (https://docs.retellai.com/reliability/debug-call-disconnect). */
const words = /* @__PURE__ */ createWords(
  ["live", "registered ongoing"],
  [
    "completed",
    "user_hangup agent_hangup call_transfer inactivity max_duration_reached " +
      "transfer_bridged transfer_cancelled call_take_over",
  ],
  // A machine answered: a mailbox, or a menu of a switchboard.
  ["voicemail", "voicemail_reached ivr_reached machine_detected"],
  ["no_answer", "dial_no_answer"],
  ["busy", "dial_busy"],
  ["declined", "user_declined"],
  ["invalid", "invalid_destination"],
  ["blocked", "marked_as_spam"],
  [
    "failed",
    "dial_failed telephony_provider_permission_denied telephony_provider_unavailable " +
      "sip_routing_error concurrency_limit_reached",
  ],
  [
    "unknown",
    "no_concurrency_fallback no_valid_payment scam_detected manual_stopped " +
      "registered_call_timeout error_user_not_joined error_llm_websocket_open " +
      "error_llm_websocket_lost_connection error_llm_websocket_runtime " +
      "error_llm_websocket_corrupt_payload error_no_audio_received error_asr error_retell " +
      "error_unknown error_inbound_webhook",
  ],
);

/** `call_status` is `not_connected` if nobody answered, and `ended` after a conversation. */
function resultOfCall(call: z.infer<ReturnType<typeof callSchema>>): ReadResult {
  const { call_status, disconnection_reason, start_timestamp, duration_ms, call_cost } = call;
  const cents = call_cost?.combined_cost;
  const isLive = call_status === "registered" || call_status === "ongoing";
  const hasLength = (duration_ms ?? 0) > 0;
  const isUnpaid = disconnection_reason === "no_valid_payment" && !hasLength;
  const hasEnded = !isUnpaid && (call_status === "ended" || hasLength);
  const result = resultOf(words, {
    word: isLive ? call_status : disconnection_reason,
    human: call.call_analysis?.in_voicemail === true ? false : null,
    isAnswered: call_status === "ended" && hasLength,
    answeredAt: hasEnded || call_status === "ongoing" ? start_timestamp : null,
    endedAt: call.end_timestamp,
    seconds: duration_ms == null ? null : duration_ms / 1000,
    cost: { amount: cents == null ? null : cents / 100, currency: "USD" },
  });
  if (call.call_analysis?.custom_analysis_data?.["do_not_call"] === true) result.optedOut = true;
  // A call without payment that has no length was never placed.
  return isUnpaid && !isLive ? { ...result, status: "failed" } : result;
}

const record: RecordType<z.infer<ReturnType<typeof callSchema>>> = {
  schema: callSchema,
  ownIn({ metadata }) {
    return metadata;
  },
  resultOf: resultOfCall,
  /** https://docs.retellai.com/features/post-call-analysis-consumption */
  analysesOf: ({ call_analysis }) => [call_analysis && (call_analysis.custom_analysis_data ?? {})],
};
