/**
 * Bland: `POST /v1/calls` (https://docs.bland.ai/api-v1/post/calls). The header `authorization` is the account's
 * secret `BLAND_API_KEY`, without a scheme.
 *
 * ```json
 * {"phone_number": "+12025550123", "pathway_id": "…", "from": "+12025550100",
 *  "request_data": {"first_name": "Ada"}, "metadata": {"call_id": "call_…", "attempt": "1"}}
 * ```
 *
 * 200 with `status: "success"` and `call_id`: placed, possibly only in Bland's own queue. Errors are `{status:
 * "error", message}`, in newer answers with `errors[].message`, and have no code. Status 429 has three meanings: see
 * `exception`. The message is read and never repeated, as it may quote the number.
 *
 * A look-up lists the calls of the day (https://docs.bland.ai/api-v1/get/calls), newest first. Its filter `to_number`
 * would put the callee's number into the address, so the rows are compared here. The list's example has no metadata,
 * so each call to the number in that period is read by its id (https://docs.bland.ai/api-v1/get/calls-id), and counts
 * only if its metadata has our id and attempt.
 */
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText, phoneNumber } from "./define-provider.ts";
import { ask, toOutcome, postJson } from "./provider-http.ts";
import {
  createAnswerers,
  optionalAmount,
  optionalNumber,
  optionalText,
  createRecordReader,
  type RecordType,
  resultOf,
  createWords,
} from "./provider-records.ts";
import type { DialOutcome, FoundCall, ReadResult } from "./provider.ts";
import { dayMs } from "../lib/units.ts";
import { toCanonical } from "../telephony/renumbered.ts";

/** Routes of Bland, as a dial plan has them. */
export const blandRoutes = defineRoute(
  "bland",
  (fields) =>
    z
      .strictObject({
        ...fields,
        baseUrl: z.optional(httpsUrl),
        /** Id of the pathway that the agent follows. */
        pathway: z.optional(idText),
        /** Instructions for the agent, instead of a pathway. `{{first_name}}` stands for a value of the context. */
        task: z.optional(z.string().check(z.minLength(1), z.maxLength(20_000))),
        /** The calling number. Without it, Bland calls from one of its own. */
        from: z.optional(phoneNumber),
      })
      .check(
        z.refine(({ pathway, task }) => (pathway === undefined) !== (task === undefined), {
          error: "must have either pathway or task",
        }),
      ),
  {
    callsPerSecond: 1,
    hasCallerId: true,
    secrets: ["API_KEY"],
    reportsVoicemail: () => true,
    readsWishes: true,
  },
);
type BlandRoute = z.infer<typeof blandRoutes.routeSchema>;

export const bland = /* @__PURE__ */ defineProvider(blandRoutes, ({ secret, fetch, now }) => {
  const apiOf = ({ account, baseUrl = "https://api.bland.ai" }: BlandRoute) => ({
    url: `${baseUrl}/v1/calls`,
    headers: { authorization: secret(account, "API_KEY") ?? "" },
  });
  return {
    async dial({ call: { id, request }, attempt, timeoutSeconds, maxCallMinutes, guarded }, route) {
      const { pathway, task, from } = route;
      const json = {
        phone_number: request.phone_number,
        ...(pathway === undefined ? { task } : { pathway_id: pathway }),
        ...(from === undefined ? {} : { from }),
        request_data: request.context ?? {},
        metadata: { call_id: id, attempt: String(attempt) },
        ...(maxCallMinutes === undefined ? {} : { max_duration: maxCallMinutes }),
      };
      const { url, headers } = apiOf(route);
      const answer = await postJson(guarded(fetch), url, { headers, json, timeoutSeconds });
      return toOutcome(answer, { callIdIn, exception }, now());
    },

    async lookUp({ call, attempt, from, until }, route): Promise<FoundCall | undefined> {
      const { url, headers } = apiOf(route);
      for (let page = 0; page < pagesMax; page++) {
        const query = new URLSearchParams({
          ...(route.from === undefined ? {} : { from_number: route.from }),
          // The reference names no time zone for these days, so a day is added on both sides.
          start_date: new Date(from - dayMs).toISOString().slice(0, 10),
          end_date: new Date(until + dayMs).toISOString().slice(0, 10),
          ascending: "false",
          from: String(page * pageCalls),
          limit: String(pageCalls),
        });
        const answer = await ask(fetch, `${url}?${query.toString()}`, { headers });
        const { calls } = z.built(listSchema).parse(answer);
        for (const { call_id, to, created_at } of calls) {
          const createdAt = Date.parse(created_at);
          if (createdAt < from - 1000 || createdAt > until) continue;
          if (!isSameNumber(to, call.request.phone_number)) continue;
          const one = await ask(fetch, `${url}/${encodeURIComponent(call_id)}`, { headers });
          const { metadata, queue_status } = z.built(detailsSchema).safeParse(one).data ?? {};
          const isOurs =
            metadata?.["call_id"] === call.id && metadata["attempt"] === String(attempt);
          if (isOurs && !hasNeverStarted(queue_status)) {
            return { by: "id", providerCallId: call_id };
          }
        }
        const isPast = calls.some(({ created_at }) => Date.parse(created_at) < from - 1000);
        if (isPast || calls.length < pageCalls) return undefined;
      }
      return undefined;
    },

    readResult: createRecordReader(fetch, apiOf, { path: "/", record }),
  };
});

const createdSchema = () =>
  z.object({
    status: z.literal("success"),
    call_id: idText,
  });

function callIdIn(body: unknown): string | undefined {
  return z.built(createdSchema).safeParse(body).data?.call_id;
}

const refusedSchema = () =>
  z.object({
    message: z.nullish(z.string()),
    errors: z.catch(z.nullish(z.array(z.object({ message: z.string() }))), null),
  });

/**
 * Reads the message of a refusal. "Calls can only be sent every 10 seconds to the same number" and limits on calls,
 * of the account or of new accounts, are temporary: such a call is sent later. A blacklisted number is refused for
 * good. The reference names no status for an empty balance, so a 400 about the balance refuses the account.
 */
function exception(status: number, body: unknown): DialOutcome | undefined {
  const { message, errors } = z.built(refusedSchema).safeParse(body).data ?? {};
  const text = [message, ...(errors ?? []).map((error) => error.message)].join("\n");
  if (status === 429 && /blacklist/i.test(text)) {
    const code = "bland_blacklisted";
    return /number/i.test(text)
      ? { kind: "rejected", code, blamesNumber: true }
      : { kind: "forbidden", code };
  }
  if (status === 429 && /same number/i.test(text)) {
    return { kind: "not_placed", code: "bland_same_number", blamesNumber: true };
  }
  if (status === 400 && /insufficient (balance|credits?|funds)/i.test(text)) {
    return { kind: "account_refused", code: "bland_balance" };
  }
  return undefined;
}

/** Calls per page, each with its summary and variables. */
const pageCalls = 200;
/** Maximum pages that a look-up reads. */
const pagesMax = 5;

const listSchema = () =>
  z.object({
    calls: z.array(
      z.object({
        call_id: idText,
        to: z.nullish(z.string()),
        created_at: z.string(),
      }),
    ),
  });

/** Older examples of the list have numbers without a country code, so one number may be the end of the other. */
function isSameNumber(listed: string | null | undefined, number: string): boolean {
  const digits = listed?.replaceAll(/\D/g, "") ?? "";
  if (digits.length < 7) return false;
  return number.endsWith(digits) || toCanonical(`+${digits}`) === toCanonical(number);
}

/** States of a call that Bland took and did not dial: the list contains these too, and a person decides. */
const neverStarted = "pre_queue_error queue_error";

function hasNeverStarted(state: string | null | undefined): boolean {
  return neverStarted.split(" ").includes(state ?? "");
}

/**
 * Values of `status`, `queue_status` and `answered_by` (https://docs.bland.ai/api-v1/get/calls-id). The reference
 * does not say if calls that `failed` or were `canceled` may have been answered. A call that nobody answered may be
 * `completed`, so only a length or who answered shows that one was.
 */
const words = /* @__PURE__ */ createWords(
  ["live", "new queued allocated started"],
  ["no_answer", "no-answer"],
  ["busy", "busy"],
  ["failed", neverStarted],
  ["unknown", "completed failed canceled unknown complete call_error complete_error"],
);

/** Values of `answered_by`. Other values say nothing. */
const answeredBy = /* @__PURE__ */ createAnswerers("human", "voicemail");

/** The details of a call. */
const detailsSchema = () =>
  z.object({
    metadata: z.nullish(z.record(z.string(), z.unknown())),
    completed: z.catch(z.nullish(z.boolean()), null),
    status: optionalText(),
    queue_status: z.nullish(z.string()),
    answered_by: optionalText(),
    /** Time at which the call was connected. `end_at` is the latest time at which Bland would end it. */
    started_at: optionalText(),
    /** Seconds. */
    corrected_duration: optionalAmount(),
    /** Minutes. */
    call_length: optionalNumber(),
    /** In dollars. */
    price: optionalNumber(),
  });

/** The details of a call whose result is read. */
const callSchema = () =>
  z.extend(detailsSchema(), {
    call_id: z.string(),
    variables: z.catch(z.nullish(z.record(z.string(), z.unknown())), null),
  });

/** `completed` takes precedence over `queue_status`. `answered_by` is set only if enabled for the account. */
function resultOfDetails(call: z.infer<ReturnType<typeof detailsSchema>>): ReadResult {
  const { completed, status, queue_status, answered_by, started_at } = call;
  const state = queue_status ?? "";
  if (completed !== true && (words.get(state) === "live" || (completed === false && !state))) {
    return resultOf(words, { word: "started" });
  }
  const { corrected_duration, call_length } = call;
  const seconds = corrected_duration ?? (call_length == null ? null : call_length * 60);
  const isAnswered = Number(seconds ?? 0) > 0;
  const isUnanswered = answered_by === "no-answer";
  const human = answeredBy.get(answered_by ?? "");
  return resultOf(words, {
    word: hasNeverStarted(state) ? state : isUnanswered ? answered_by : (status ?? queue_status),
    human,
    isAnswered: human !== undefined,
    answeredAt: isAnswered ? started_at : null,
    endedAt: started_at && Date.parse(started_at) + Number(seconds ?? 0) * 1000,
    seconds,
    cost: { amount: call.price, currency: "USD" },
  });
}

const record: RecordType<z.infer<ReturnType<typeof callSchema>>> = {
  schema: callSchema,
  ownIn({ metadata }) {
    return metadata;
  },
  resultOf: resultOfDetails,
  /** Variables that a pathway or a tool has made in the call (https://docs.bland.ai/api-v1/get/calls-id). */
  analysesOf: ({ variables }) => [variables],
};
